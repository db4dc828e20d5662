import NIOCore
import SDLProtocol

/// One request of an app, from either form of RPC payload.
struct Request: Sendable {
    var sessionID: UInt8
    var functionID: FunctionID
    var correlationID: Int32
    /// nil when the JSON cannot be read, or there is more of it than any RPC has.
    var parameters: JSON?
    /// The parameters as they came, for whoever compares them with the specification.
    var text = JSONObject.empty
    var bulk = ByteBuffer()
    /// What is wrong with it, but no reason to refuse it: told with WARNINGS instead of SUCCESS.
    var warnings: [String] = []

    /// A parameter, nil when it is missing.
    subscript(name: String) -> JSON? { parameters?[name] }
}

/// What a message of an app turned out to be.
enum IncomingMessage {
    case request(Request)
    /// A function the specification does not know: v1 has its name only.
    case unknownFunction(Request)
    /// Responses and notifications: nothing of what the simulator sends waits for them.
    case other
    /// Too short, or of sizes that do not add up.
    case malformed
}

extension IncomingMessage {
    /// Bytes of JSON that are read: what is read is read on the relay's own loop, and others wait.
    private static let maximumJSONBytes = 256 << 10

    private static func parameters(_ bytes: ByteBuffer) -> JSONObject? {
        if bytes.readableBytes == 0 { return .empty }
        return bytes.readableBytes <= maximumJSONBytes ? JSONObject(endedByNUL: bytes) : nil
    }

    /// Reads the binary header of v2 and later (SDL protocol spec, "RPC payload").
    init(_ message: ByteBuffer, sessionID: UInt8) {
        guard let header = RPCHeader(message) else {
            self = .malformed
            return
        }
        guard header.type == .request else {
            self = .other
            return
        }
        var rest = message
        rest.moveReaderIndex(forwardBy: RPCHeader.bytes)
        let json = rest.readSlice(length: header.jsonBytes)
        let function = FunctionID(rawValue: header.functionID)
        var request = Request(
            sessionID: sessionID, functionID: function, correlationID: header.correlationID,
            bulk: rest)
        request.read(json.flatMap(Self.parameters))
        self = function.isRequest ? .request(request) : .unknownFunction(request)
    }

    /// Reads the JSON wrapper of v1.
    init(v1 message: ByteBuffer, sessionID: UInt8) {
        guard message.readableBytes <= Self.maximumJSONBytes,
            let wrapper = JSONObject(endedByNUL: message)
        else {
            self = .malformed
            return
        }
        guard let body = wrapper.object("request") else {
            let isOther = wrapper.value("response") != nil || wrapper.value("notification") != nil
            self = isOther ? .other : .malformed
            return
        }
        let function = body.string("name").flatMap(FunctionID.init(name:))
        var request = Request(
            sessionID: sessionID, functionID: function ?? .genericResponse,
            correlationID: Int32(truncatingIfNeeded: body.integer("correlationID") ?? 0))
        request.read(body.value("parameters") == nil ? .empty : body.object("parameters"))
        self = function?.isRequest == true ? .request(request) : .unknownFunction(request)
    }
}

extension Request {
    fileprivate mutating func read(_ object: JSONObject?) {
        guard let object else { return }
        text = object
        parameters = JSON(object)
    }
}

extension FunctionID {
    /// Notifications start at 0x8000, of which a second range is for the old policy exchange.
    var isRequest: Bool {
        name != nil && self != .genericResponse && rawValue & 0x8000 == 0
    }
}
