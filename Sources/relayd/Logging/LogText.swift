package import Logging

// Text that is safe to show: names come from apps and head units, and may hold anything.

/// Escaping for log lines.
package enum LogText {
    /// The text on one line, control characters made visible: what a peer sent can neither
    /// forge a log line nor command the terminal.
    package static func oneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": safe += "\\n"
            case "\r": safe += "\\r"
            case "\t": safe += "\\t"
            case _ where isControl(scalar): safe += "\\u{\(String(scalar.value, radix: 16))}"
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    /// C0 and C1 controls, the line separators, and the marks that turn text around.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// The text as a JSON string, quotes included.
    package static func json(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\n": json += "\\n"
            case "\r": json += "\\r"
            case "\t": json += "\\t"
            case _ where isControl(scalar):
                let hex = String(scalar.value, radix: 16)
                json += "\\u" + String(repeating: "0", count: 4 - hex.utf8.count) + hex
            default: json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }

    /// A metadata value as JSON, nested values included.
    package static func json(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .array(let values):
            return "[" + values.map(json).joined(separator: ",") + "]"
        case .dictionary(let members):
            let sorted = members.sorted { $0.key < $1.key }
            return "{" + sorted.map { "\(json($0.key)):\(json($0.value))" }.joined(separator: ",")
                + "}"
        default:
            return json(value.description)
        }
    }
}
