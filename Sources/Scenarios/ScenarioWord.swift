import SDLProtocol

/// Words and times as people write them in a scenario.
enum ScenarioWord {
    /// Whether it can name a variable, a role or a fault: ASCII letters, digits, `_` and `-`.
    static func isWord(_ text: String) -> Bool {
        (1...ScenarioLimits.wordBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || $0 == 0x5F
                    || $0 == 0x2D
            }
    }

    /// What was written, for a message: on one line, cut at 60 characters.
    static func shown(_ text: String) -> String {
        PrintableText.string(text, limit: 60)
    }

    /// Milliseconds of a unit.
    private static let units: [String: Double] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000]

    /// "500ms", "1.5s", "2m", "1h", from 0 to 24 h; nil for anything else.
    static func time(_ text: String) -> Duration? {
        let number = text.prefix { ("0"..."9").contains($0) || $0 == "." }
        let unit = text[number.endIndex...].drop { $0 == " " }
        guard number.utf8.count <= 12, let value = Double(number), let factor = units[String(unit)]
        else { return nil }
        let milliseconds = value * factor
        guard milliseconds.isFinite, milliseconds <= 86_400_000 else { return nil }
        return .milliseconds(Int64(milliseconds.rounded()))
    }

    static let timeExample = "a time such as 500ms, 10s or 2m, at most 24h"

    /// "1.5 s", for people.
    static func text(_ time: Duration) -> String {
        let milliseconds =
            time.components.seconds.multipliedReportingOverflow(by: 1000).partialValue
            &+ time.components.attoseconds / 1_000_000_000_000_000
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000 / 100)
        return rest == 0 ? "\(seconds) s" : "\(seconds).\(rest) s"
    }
}

extension ScenarioWord {
    /// A message from elsewhere, on one line.
    static func line(_ text: String) -> String {
        PrintableText.string(
            text.split(whereSeparator: \.isNewline).joined(separator: " "), limit: 500)
    }
}
