// Data frames in, RPC messages out: where requests enter and responses and notifications leave.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    mutating func receiveData(_ frame: Frame) {
        switch frame.service {
        case .audio, .video: receiveStreamData(frame)
        case .rpc, .bulk: receiveRPC(frame)
        // TLS handshakes: nothing here is ever protected.
        case .control: counters.unexpectedFrames += 1
        }
    }

    private mutating func receiveRPC(_ frame: Frame) {
        let id = frame.sessionID
        guard sessions[id] != nil, !frame.isEncrypted else {
            counters.unexpectedFrames += 1
            return
        }
        settleVersion(of: id, by: frame)
        let time = Int64(clamping: now.uptimeNanoseconds)
        switch sessions[id]?.assembler.receive(frame, at: time) {
        case .message(let message, nil) where !message.isTruncated: receiveMessage(message)
        case .message, .broken: counters.malformedMessages += 1
        case .incomplete, nil: break
        }
    }

    /// Below 5 the app's first frame shows the highest version it speaks.
    private mutating func settleVersion(of id: UInt8, by frame: Frame) {
        guard sessions[id]?.isVersionSettled == false else { return }
        let highest = UInt8(min(configuration.protocolVersion.major, 4))
        sessions[id]?.version = min(frame.version, highest)
        sessions[id]?.isVersionSettled = true
    }

    private mutating func receiveMessage(_ message: Message) {
        let id = message.sessionID
        let incoming =
            message.version == 1
            ? IncomingMessage(v1: message.payload, sessionID: id)
            : IncomingMessage(message.payload, sessionID: id)
        switch incoming {
        case .request(let request): answer(request)
        case .unknownFunction(let request):
            // v1 has no number to answer with.
            let isNamed = request.functionID == .genericResponse
            respond(
                to: request, isNamed ? .invalidData : .unsupportedRequest,
                info: "this head unit does not know the function")
        case .other: break
        case .malformed: counters.malformedMessages += 1
        }
    }

    // MARK: Out

    /// Answers a request; every request is answered exactly once. Success becomes WARNINGS when there are warnings.
    mutating func respond(
        to request: Request, _ result: ResultCode, _ more: JSON = [:], info: String? = nil
    ) {
        var (result, info) = (result, info)
        if result == .success, !request.warnings.isEmpty {
            result = .warnings
            let texts = (info.map { [$0] } ?? []) + request.warnings
            info = PrintableText.string(
                texts.joined(separator: "; "), limit: Self.maximumInfoLength)
        }
        var parameters: JSON = [
            "success": .bool(result.isSuccess), "resultCode": .string(result.rawValue),
        ]
        if let info { parameters = parameters.merging(["info": .string(info)]) }
        sendRPC(
            .response, request.functionID, correlationID: request.correlationID,
            parameters.merging(more), to: request.sessionID)
    }

    /// The most characters of `info`, which may have 1,000 (MOBILE_API).
    private static let maximumInfoLength = 990

    mutating func notify(
        _ function: FunctionID, _ parameters: JSON, bulk: ByteBuffer? = nil, to sessionID: UInt8
    ) {
        sendRPC(.notification, function, correlationID: 0, parameters, bulk: bulk, to: sessionID)
    }

    private mutating func sendRPC(
        _ type: RPCType, _ function: FunctionID, correlationID: Int32, _ parameters: JSON,
        bulk: ByteBuffer? = nil, to sessionID: UInt8
    ) {
        guard let version = sessions[sessionID]?.version else { return }
        var message = ByteBuffer()
        if version == 1 {
            var body: JSON = ["name": .string(function.description)]
            if type == .response {
                body = body.merging(["correlationID": .integer(Int64(correlationID))])
            }
            body = body.merging(["parameters": parameters])
            let wrapper = JSON.object([JSON.Member(key: "\(type)", value: body)])
            message.writeString(wrapper.text)
        } else {
            let json = parameters.text
            let header = RPCHeader(
                type: type, functionID: function.rawValue, correlationID: correlationID,
                jsonBytes: json.utf8.count)
            header.write(to: &message)
            message.writeString(json)
            if let bulk { message.writeImmutableBuffer(bulk) }
        }
        let mtu = configuration.mtu
        let frames = sessions[sessionID]?.frames(
            for: message, service: bulk == nil || version == 1 ? .rpc : .bulk, mtu: mtu)
        for frame in frames ?? [] { send(frame) }
    }
}
