package import Logging
import SDLProtocol

/// Makes text safe for a log line: names come from apps and head units, and may contain anything.
package enum LogText {
    /// The text on one line, with invisible characters made visible (see `VisibleScalars`): text
    /// from a peer can neither forge a log line nor control the terminal.
    package static func oneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: mayBeInvisible) else { return text }
        var safe = ""
        var visible = VisibleScalars()
        func put(_ scalar: Unicode.Scalar, _ isVisible: Bool) {
            switch scalar {
            case "\n": safe += "\\n"
            case "\r": safe += "\\r"
            case "\t": safe += "\\t"
            case _ where !isVisible: safe += "\\u{\(String(scalar.value, radix: 16))}"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        for scalar in text.unicodeScalars { visible.push(scalar, put) }
        visible.finish(put)
        return safe
    }

    private static func mayBeInvisible(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0xFE0E || scalar.value == 0xFE0F || VisibleScalars.isInvisible(scalar)
    }

    /// A metadata value as JSON, nested values included.
    package static func json(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .array(let values):
            return "[" + values.map(json).joined(separator: ",") + "]"
        case .dictionary(let members):
            let sorted = members.sorted { $0.key < $1.key }.map {
                "\(PrintableText.jsonString($0.key)):\(json($0.value))"
            }
            return "{" + sorted.joined(separator: ",") + "}"
        default:
            return PrintableText.jsonString(value.description)
        }
    }
}
