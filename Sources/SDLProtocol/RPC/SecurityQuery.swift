import NIOCore

/// A query of the TLS handshake over the control service (SDL protocol spec, "Security"). Read for
/// the log only, never a reason to refuse anything.
public struct SecurityQuery: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case request = 0x00
        case response = 0x10
        case notification = 0x20
        case invalid = 0xFF
    }

    public enum QueryID: UInt32, Hashable, Sendable {
        case sendHandshakeData = 0x000001
        case sendInternalError = 0x000002
        case invalid = 0xFFFFFF
    }

    public static let headerBytes = 12

    /// Nil for a number nobody defined.
    public var kind: Kind?
    public var queryID: QueryID?
    public var sequenceNumber: UInt32
    /// SendInternalError: `id` and `text`. Nil when there is none that can be read, as senders
    /// disagree whether JSON or binary data comes first.
    public var json: JSONObject?
    /// Bytes behind the header that are not JSON: TLS records, mostly.
    public var binaryBytes: Int

    /// Nil when the message is shorter than a query's header.
    public init?(_ message: Message) {
        let payload = message.payload
        let start = payload.readerIndex
        guard
            let (first, sequence, jsonBytes) = payload.getMultipleIntegers(
                at: start, as: (UInt32, UInt32, UInt32).self)
        else { return nil }
        kind = Kind(rawValue: UInt8(first >> 24))
        queryID = QueryID(rawValue: first & 0xFF_FFFF)
        sequenceNumber = sequence
        let rest = payload.readableBytes - Self.headerBytes
        binaryBytes = rest
        guard jsonBytes > 0, Int(jsonBytes) <= rest else { return }
        let size = Int(jsonBytes)
        // sdl_core puts the binary data in front of the JSON, against the specification.
        for offset in Set([0, rest - size]).sorted() {
            guard
                let slice = payload.getSlice(
                    at: start + Self.headerBytes + offset, length: size),
                let object = try? JSONObject(slice)
            else { continue }
            json = object
            binaryBytes = rest - size
            return
        }
    }

    /// SendInternalError's code.
    public var errorCode: Int? { json?.integer("id") }

    /// What a code of SendInternalError means.
    public static func meaning(ofError code: Int) -> String {
        switch code {
        case 0x00: "success"
        case 0x01: "invalid query size"
        case 0x02: "invalid query id"
        case 0x03: "encryption not supported"
        case 0x04: "service already protected"
        case 0x05: "service not protected"
        case 0x06: "decryption failed"
        case 0x07: "encryption failed"
        case 0x08: "invalid TLS data"
        case 0x09: "handshake failed"
        case 0x0A: "invalid certificate"
        case 0x0B: "expired certificate"
        case 0xFE: "unknown internal error"
        case 0xFF: "internal error"
        default: "error \(code)"
        }
    }
}
