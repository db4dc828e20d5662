// Puts the payload of a control frame into words; used by both log formats.

import NIOCore
import SDLProtocol

/// What a control frame says, in order of importance: names and values, and how a line shows them.
struct ControlDetails: Sequence {
    struct Detail: Hashable {
        var key: String
        /// Value alone, for structured output.
        var value: String
        /// Name and value as a line shows them; not yet stripped of control characters.
        var text: String
    }

    private var details: [Detail] = []

    init(_ control: ControlEntry) {
        switch control.payload {
        case .none: break
        case .hashID(let hash): addHash(hash)
        case .document(let document):
            addVideo(document)
            for element in Self.ordered(document) { add(element.key, element.value) }
        case .unreadable(let bytes, _):
            let hex = Self.hex(bytes)
            details.append(
                Detail(key: "payload", value: hex, text: "unreadable payload [\(hex)]"))
        }
    }

    func makeIterator() -> IndexingIterator<[Detail]> { details.makeIterator() }

    private mutating func add(_ key: String, _ value: BSONValue) {
        switch (key, value) {
        case (ControlKey.hashID, .int32(let hash)): addHash(UInt32(bitPattern: hash))
        case (ControlKey.protocolVersion, .string(let version)):
            details.append(Detail(key: key, value: version, text: "protocol \(version)"))
        case (ControlKey.rejectedParams, .array):
            details.append(Detail(key: key, value: value.description, text: "rejects \(value)"))
        case (ControlKey.height, _), (ControlKey.width, _), (ControlKey.videoCodec, _),
            (ControlKey.videoProtocol, _):
            // Told by `addVideo`.
            break
        default:
            details.append(
                Detail(key: key, value: value.description, text: "\(key) \(value)"))
        }
    }

    private mutating func addHash(_ hash: UInt32) {
        let digits = String(hash, radix: 16)
        let text = "0x" + String(repeating: "0", count: 8 - digits.count) + digits
        details.append(Detail(key: ControlKey.hashID, value: text, text: "hash \(text)"))
    }

    /// "800×480 H264 RAW", for what an app wants or a head unit grants.
    private mutating func addVideo(_ document: BSONDocument) {
        var words: [String] = []
        if let width = document[ControlKey.width], let height = document[ControlKey.height] {
            words.append("\(width)×\(height)")
        }
        for key in [ControlKey.videoCodec, ControlKey.videoProtocol] {
            if let value = document[key] { words.append(value.description) }
        }
        guard !words.isEmpty else { return }
        let text = words.joined(separator: " ")
        details.append(Detail(key: "video", value: text, text: text))
    }

    /// BSON of sdl_core comes in random order; lines are compared by people.
    private static func ordered(_ document: BSONDocument) -> [BSONDocument.Element] {
        document.elements.sorted { (rank($0.key), $0.key) < (rank($1.key), $1.key) }
    }

    private static let order = [
        ControlKey.protocolVersion, ControlKey.reason, ControlKey.rejectedParams,
        ControlKey.hashID, ControlKey.mtu, ControlKey.make, ControlKey.model,
    ]

    private static func rank(_ key: String) -> Int {
        order.firstIndex(of: key) ?? order.count
    }

    private static func hex(_ bytes: ByteBuffer) -> String {
        var line = LineBuilder()
        for byte in bytes.readableBytesView.prefix(UndecodableEntry.maximumFirstBytes) {
            if !line.bytes.isEmpty { line.append(ascii: " ") }
            line.append(hexByte: byte)
        }
        return String(decoding: line.bytes, as: UTF8.self)
    }
}
