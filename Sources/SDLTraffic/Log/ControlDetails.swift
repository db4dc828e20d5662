import NIOCore
import SDLProtocol

/// The contents of a control frame, the most important first, in words for `TrafficTextFormat` and as JSON
/// for `TrafficJSONFormat`; not yet stripped of control characters.
struct ControlDetails {
    private(set) var words: [String] = []

    init(_ control: ControlEntry) {
        switch control.payload {
        case .none: break
        case .hashID(let hash): words.append("hash " + Self.hash(hash))
        case .document(let document): read(document)
        case .unreadable(let bytes, _):
            var line = LineBuilder()
            line.append(hexBytes: bytes, separated: true)
            words.append("unreadable payload [\(String(decoding: line.bytes, as: UTF8.self))]")
        }
    }

    private mutating func read(_ document: BSONDocument) {
        if let version = document[ControlKey.protocolVersion] {
            words.append("protocol \(version)")
        }
        if let reason = document[ControlKey.reason] { words.append("\"\(reason)\"") }
        if let rejected = document[ControlKey.rejectedParams] {
            words.append("rejects \(rejected)")
        }
        join(document, [ControlKey.width, ControlKey.height], separator: "×")
        join(document, [ControlKey.videoCodec, ControlKey.videoProtocol])
        switch document[ControlKey.hashID] {
        case .int32(let hash): words.append("hash " + Self.hash(UInt32(bitPattern: hash)))
        case let other?: words.append("hash \(other), not an int32")
        case nil: break
        }
        if let mtu = document[ControlKey.mtu] { words.append("mtu \(mtu)") }
        join(document, [ControlKey.make, ControlKey.model, "modelYear", "trim"])
        if let software = document["systemSoftwareVersion"] { words.append("software \(software)") }
        if let hardware = document["systemHardwareVersion"] { words.append("hardware \(hardware)") }
        if let offers = document.array(ControlKey.secondaryTransports), !offers.isEmpty {
            words.append("offers " + offers.map(\.description).joined(separator: ","))
        }
        if let address = document[ControlKey.tcpIPAddress] {
            let port = document[ControlKey.tcpPort].map { ":\($0)" } ?? ""
            words.append(address == .string("") ? "no TCP" : "TCP \(address)\(port)")
        }
        for element in document.elements where !Self.known.contains(element.key) {
            words.append("\(element.key) \(element.value)")
        }
    }

    private mutating func join(
        _ document: BSONDocument, _ keys: [String], separator: String = " "
    ) {
        let values = keys.compactMap { document[$0]?.description }
        if !values.isEmpty { words.append(values.joined(separator: separator)) }
    }

    /// A hash ID as the log and the advice write it: "0x00010005".
    static func hash(_ hash: UInt32) -> String { "0x" + hash.hexDigits }

    /// Keys that are shown above, or, for the service transports, are of no use to people on a bench.
    private static let known: Set<String> = [
        ControlKey.protocolVersion, ControlKey.reason, ControlKey.rejectedParams,
        ControlKey.width, ControlKey.height, ControlKey.videoCodec, ControlKey.videoProtocol,
        ControlKey.hashID, ControlKey.mtu, ControlKey.make, ControlKey.model, "modelYear", "trim",
        "systemSoftwareVersion", "systemHardwareVersion", ControlKey.secondaryTransports,
        ControlKey.audioServiceTransports, ControlKey.videoServiceTransports,
        ControlKey.tcpIPAddress, ControlKey.tcpPort, Self.authToken,
    ]

    /// Gives access to a cloud app's account: logs are passed around, so it is never written.
    fileprivate static let authToken = "authToken"
}

extension LineBuilder {
    /// Appends the payload as a JSON object with the types that it was sent with. A raw hash ID of v2…v4 gets
    /// the key of v5; an unreadable payload is shown by its first bytes in hex.
    mutating func append(jsonPayload payload: ControlPayload) {
        switch payload {
        case .none: append("{}")
        case .hashID(let hash):
            append("{\"hashId\":")
            append(Int32(bitPattern: hash))
            append(ascii: "}")
        case .document(let document): append(json: document)
        case .unreadable(let bytes, _):
            append("{\"first_bytes\":\"")
            append(hexBytes: bytes, separated: false)
            append("\"}")
        }
    }

    /// Two digits per byte, at most `UndecodableEntry.maximumFirstBytes` bytes.
    mutating func append(hexBytes bytes: ByteBuffer, separated: Bool) {
        var isFirst = true
        for byte in bytes.readableBytesView.prefix(UndecodableEntry.maximumFirstBytes) {
            if separated, !isFirst { append(ascii: " ") }
            isFirst = false
            append(hexByte: byte)
        }
    }

    private mutating func append(json document: BSONDocument) {
        append(ascii: "{")
        var isFirst = true
        for element in document.elements {
            if !isFirst { append(ascii: ",") }
            isFirst = false
            append(jsonString: element.key)
            append(ascii: ":")
            if element.key == ControlDetails.authToken {
                append("\"…\"")
            } else {
                append(json: element.value)
            }
        }
        append(ascii: "}")
    }

    private mutating func append(json value: BSONValue) {
        switch value {
        case .string(let text): append(jsonString: text)
        case .int32(let number): append(number)
        case .int64(let number): append(number)
        case .bool(let value): append(value ? "true" : "false")
        case .double(let number): number.isFinite ? append("\(number)") : append("null")
        case .document(let document): append(json: document)
        case .array(let values):
            append(ascii: "[")
            for (index, value) in values.enumerated() {
                if index > 0 { append(ascii: ",") }
                append(json: value)
            }
            append(ascii: "]")
        case .other(type: 0x0A, _): append("null")
        case .other: append(jsonString: value.description)
        }
    }
}
