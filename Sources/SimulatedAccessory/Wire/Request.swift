import NIOCore
import SDLProtocol

/// One request of an app, from either form of RPC payload.
struct Request: Sendable {
    var sessionID: UInt8
    var functionID: FunctionID
    var correlationID: Int32
    /// nil when the JSON cannot be read, or is longer than that of any RPC.
    var parameters: JSON?
    /// The parameters as received, to be compared with the specification.
    var text = JSONObject.empty
    var bulk = ByteBuffer()
    /// Faults that are no reason to refuse the request; the response reports them with WARNINGS, not SUCCESS.
    var warnings: [String] = []

    /// A parameter, nil when it is missing.
    subscript(name: String) -> JSON? { parameters?[name] }
}

/// What a message from an app turned out to be.
enum IncomingMessage {
    case request(Request)
    /// A function that the specification does not know; v1 has only its name.
    case unknownFunction(Request)
    /// Responses and notifications: the simulator sends nothing that waits for them.
    case other
    /// Too short, or with sizes that do not add up.
    case malformed
}

extension IncomingMessage {
    /// The most bytes of JSON that are read: this happens on the relay's own loop, and others wait meanwhile.
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
    /// Notifications start at 0x8000; a second range among them is for the old policy exchange.
    var isRequest: Bool {
        name != nil && self != .genericResponse && rawValue & 0x8000 == 0
    }
}
