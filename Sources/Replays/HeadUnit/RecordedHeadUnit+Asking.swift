// Turns the frames of a live app into requests.

import NIOCore
import SDLProtocol

extension RecordedHeadUnit {
    mutating func receive(_ frame: Frame) {
        if let key = keys[frame.sessionID] { sessions[key]?.stirred = now }
        if frame.type == .control {
            receiveControl(frame)
        } else if let key = keys[frame.sessionID], !frame.service.isStream {
            receiveMessage(frame, key)
        }
    }

    private mutating func receiveControl(_ frame: Frame) {
        guard let type = frame.controlType else { return }
        let key = keys[frame.sessionID]
        switch type {
        case .heartbeat:
            output.frames.append(
                Frame(
                    version: frame.version, type: .control, service: .control,
                    info: ControlFrameType.heartbeatACK.rawValue, sessionID: frame.sessionID,
                    messageID: frame.messageID ?? 0))
        case .startService where frame.service == .rpc && frame.sessionID == 0:
            guard starts.count < Self.maximumStarts else {
                refuse(frame, "too many apps ask for a session at once")
                return
            }
            starts.append((frame, now))
        case .startService, .endService, .registerSecondaryTransport:
            guard let key else {
                refuse(frame, "session \(frame.sessionID) is not running")
                return
            }
            ask(
                LiveSession.Asked(
                    question: .control(type, frame.service), frame: frame, at: now), key)
        // The recorded head unit has said goodbye, and the app agrees.
        case .endServiceACK where frame.service == .rpc:
            if let key { close(key) }
        default: break
        }
    }

    private mutating func receiveMessage(_ frame: Frame, _ key: Int) {
        guard !frame.isEncrypted else { return tellEncrypted(key) }
        guard frame.service.carriesRPC,
            case .message(let message, _)? = sessions[key]?.assembler.receive(
                frame, at: Int64(clamping: now.uptimeNanoseconds)),
            !message.isEncrypted, let rpc = try? RPCMessage(message), rpc.type == .request
        else { return }
        var asked = LiveSession.Asked(
            question: .request(rpc.functionID), correlationID: rpc.correlationID, at: now)
        asked.registration = RecordedRegistration(rpc)
        asked.functionName = rpc.functionName
        asked.fingerprint = AnswerComparison.fingerprint(rpc, ignoring: masked)
        ask(asked, key)
    }

    private mutating func tellEncrypted(_ key: Int) {
        guard let session = sessions[key], !session.toldOfEncryption else { return }
        sessions[key]?.toldOfEncryption = true
        tell(
            .encrypted, lanes[session.lane]?.name ?? "",
            "the app encrypts, and a recording cannot answer what it cannot read")
    }

    private mutating func ask(_ asked: LiveSession.Asked, _ key: Int) {
        guard let count = sessions[key]?.asked.count else { return }
        if count < LiveSession.maximumAsked {
            sessions[key]?.asked.append(asked)
        } else {
            answerUnknown(asked, key)
        }
    }

    // MARK: Without the recording

    /// Refuses as sdl_core does, with the header version of the request.
    func refusal(_ frame: Frame, _ reason: String) -> Frame? {
        let type: ControlFrameType
        switch frame.controlType {
        case .startService: return .startServiceNAK(of: frame, reason: reason)
        case .registerSecondaryTransport:
            return .registerSecondaryTransportNAK(of: frame, reason: reason)
        case .endService: type = .endServiceNAK
        default: return nil
        }
        return Frame(
            version: frame.version, type: .control, service: frame.service, info: type.rawValue,
            sessionID: frame.sessionID, messageID: frame.messageID ?? 0)
    }

    mutating func refuse(_ frame: Frame, _ reason: String) {
        if let refusal = refusal(frame, reason) { output.frames.append(refusal) }
    }

    /// Answers a question that is not in the recording as a head unit would.
    mutating func answerUnknown(_ asked: LiveSession.Asked, _ key: Int) {
        guard let session = sessions[key] else { return }
        switch asked.question {
        case .control(let type, let service):
            guard let frame = asked.frame else { return }
            if type == .endService {
                acknowledgeEnd(frame, key)
                if service == .rpc { close(key) }
                return
            }
            let name = lanes[session.lane]?.name ?? ""
            tell(.notRecorded, name, "\(asked.question) is not in the recording and was refused")
            refuse(frame, "not in the recording")
        case .request(let function):
            answerUnknown(function, asked, session)
        }
    }

    /// Acknowledges the end: an app may leave when it likes.
    private mutating func acknowledgeEnd(_ frame: Frame, _ key: Int) {
        guard let version = sessions[key]?.version, let id = sessions[key]?.id,
            let messageID = sessions[key]?.takeMessageID()
        else { return }
        output.frames.append(
            Frame(
                version: version, type: .control, service: frame.service,
                info: ControlFrameType.endServiceACK.rawValue, sessionID: id,
                messageID: messageID))
    }

    /// The parameters of an answer that is not in the recording.
    private mutating func refusal(
        of function: FunctionID, _ asked: LiveSession.Asked, _ session: LiveSession
    ) -> String {
        // An app may leave when it likes, even if the recording ended sooner.
        if function == .unregisterAppInterface {
            return #"{"success":true,"resultCode":"SUCCESS"}"#
        }
        let lane = lanes[session.lane]
        let isKnown = lane?.questions.contains(.request(function)) == true
        let words =
            isKnown
            ? "no further \(asked.functionName) is in the recording"
            : "\(asked.functionName) is not in the recording"
        let result = isKnown ? "GENERIC_ERROR" : "UNSUPPORTED_REQUEST"
        tell(.notRecorded, lane?.name ?? "", "\(words); it was answered with \(result)")
        return #"{"success":false,"resultCode":"\#(result)","info":"#
            + PrintableText.jsonString("relayd replays a recording: \(words)") + "}"
    }

    private mutating func answerUnknown(
        _ function: FunctionID, _ asked: LiveSession.Asked, _ session: LiveSession
    ) {
        let json = refusal(of: function, asked, session)
        let messageID = sessions[session.key]?.takeMessageID() ?? 0
        if session.version == 1 {
            // v1 sends the name of the function, which may be the app's own.
            guard function.name != nil else { return }
            output.frames.append(
                .rpcV1(
                    sessionID: session.id, type: .response, name: asked.functionName,
                    correlationID: asked.correlationID ?? 0, parameters: json))
        } else {
            output.frames.append(
                .rpc(
                    version: session.version, sessionID: session.id, messageID: messageID,
                    type: .response, functionID: function.rawValue,
                    correlationID: asked.correlationID ?? 0, json: json))
        }
    }
}
