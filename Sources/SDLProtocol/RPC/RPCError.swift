/// Why a message of the RPC or bulk service cannot be read as an RPC; thrown by `RPCMessage`.
public enum RPCError: Error, Hashable, Sendable {
    /// Shorter than the 12-byte binary header.
    case tooShort(bytes: Int)
    /// RPC type 3…15; sdl_core drops those in silence.
    case unknownType(UInt8)
    /// The header announces more JSON than the message has.
    case jsonTooLong(declared: Int, available: Int)
    /// The parameters are not a JSON object.
    case notJSON(JSONError)
    /// v1: a JSON object, but neither request, response nor notification.
    case noWrapper
    /// v1: the wrapper has no name.
    case noName
}

extension RPCError: CustomStringConvertible {
    /// Found and expected, in one clause.
    public var description: String {
        switch self {
        case .tooShort(let bytes): "\(bytes) bytes, an RPC header has \(RPCHeader.bytes)"
        case .unknownType(let type):
            "RPC type \(type), expected 0 (request), 1 (response) or 2 (notification)"
        case .jsonTooLong(let declared, let available):
            "the header announces \(declared) bytes of JSON, \(available) follow"
        case .notJSON(let error): "parameters are not a JSON object: \(error)"
        case .noWrapper:
            "v1 message without \"request\", \"response\" or \"notification\" on top"
        case .noName: "v1 message without a function name"
        }
    }
}
