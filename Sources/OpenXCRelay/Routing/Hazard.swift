import OpenXCProtocol

/// Why a message is not passed on to a vehicle interface: the harm it would do there.
package enum Hazard: Hashable, Sendable {
    /// Firmware discards its whole input buffer when a message does not fit in it.
    case tooLong(bytes: Int)
    /// Firmware 8 copies the name of a diagnostic request into a buffer without checking its length.
    case longName(String)
    /// Firmware takes a command for the known one that its name begins with, and ignores the case of keys.
    case disguised(name: String)

    /// The limit for a message in JSON, including the separator from the next.
    static let maximumBytes = 383
    /// The buffer has room for a NUL as well.
    static let maximumNameBytes = 9

    package var description: String {
        switch self {
        case .tooLong(let bytes):
            "it has \(bytes) bytes, and a vehicle interface takes \(Self.maximumBytes)"
        case .longName(let name):
            "the name \(name.debugDescription) has \(name.utf8.count) bytes, and firmware has room for "
                + "\(Self.maximumNameBytes)"
        case .disguised(let name):
            "firmware may take \(name.debugDescription) for another command; send that one"
        }
    }
}

extension VehicleMessage {
    /// Nil when the message may go to a vehicle interface.
    var hazard: Hazard? {
        switch content {
        case .command(.other(let name, let object)):
            if Self.isDisguised(name, object) { return .disguised(name: name) }
        case .command(.diagnosticRequest(_, let request)):
            if let name = request.name, name.utf8.count > Hazard.maximumNameBytes {
                return .longName(name)
            }
        default: break
        }
        let bytes = json.utf8.count + 1
        return bytes > Hazard.maximumBytes ? .tooLong(bytes: bytes) : nil
    }

    /// Whether firmware may find a known command in an unknown one.
    private static func isDisguised(_ name: String, _ object: JSONFragment) -> Bool {
        let name = name.lowercased()
        if CommandName.known.contains(where: { name.hasPrefix($0.word) }) { return true }
        // A second `command` key, in another case or written with escapes.
        let text = object.text.lowercased()
        return text.utf8.contains(UInt8(ascii: "\\")) || count(of: "\"command\"", in: text) != 1
    }

    private static func count(of word: String, in text: String) -> Int {
        let (word, text) = (Array(word.utf8), Array(text.utf8))
        return text.indices.count { text[$0...].starts(with: word) }
    }
}
