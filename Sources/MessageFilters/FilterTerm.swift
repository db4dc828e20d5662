/// One condition of a filter.
package enum FilterTerm: Hashable, Sendable {
    /// Nothing went wrong with the message, nor with its request or answer.
    case ok
    /// Name or app ID; a number also matches the connection's.
    case app(TextPattern, connection: UInt64?)
    /// One of several known words; `names` are those that `pattern` matches.
    case name(NameKey, TextPattern, names: Set<String>)
    /// The result code of the answer.
    case result(TextPattern)
    /// At least this priority, or exactly.
    case priority(FilterPriority, isExact: Bool)
    case number(NumberKey, NumberOrder, FilterNumber)
    /// What the message's line shows, and its JSON.
    case text(TextPattern)
    case parameter([PathStep], ParameterTest)

    package enum NameKey: String, Hashable, Sendable, CaseIterable {
        case rpc
        case kind
        case service
        case from

        /// The known words; those of `rpc` come with `FilterNames`.
        package var words: [String] {
            switch self {
            case .rpc: []
            case .kind:
                [
                    "request", "response", "notification", "control", "stream", "security",
                    "encrypted", "undecodable", "dropped", "event",
                ]
            case .service: ["control", "rpc", "audio", "video", "bulk"]
            case .from: ["app", "unit"]
            }
        }
    }

    package enum NumberKey: String, Hashable, Sendable, CaseIterable {
        /// Time from request to answer, in milliseconds.
        case milliseconds = "ms"
        /// Bytes of payload.
        case bytes
        /// The message's number.
        case number = "n"
        /// Correlation ID.
        case correlation = "corr"
        case session
    }

    package enum PathStep: Hashable, Sendable {
        /// Case does not matter.
        case member(String)
        case index(Int)
    }

    package enum ParameterTest: Hashable, Sendable {
        case exists
        /// The text of a string, number or bool contains this; of other values, the JSON does.
        case contains(TextPattern)
        /// The text, or the number, equals this.
        case equals(TextPattern, number: FilterNumber?)
        case number(NumberOrder, FilterNumber)
    }
}

package enum NumberOrder: String, Hashable, Sendable {
    case less = "<"
    case lessOrEqual = "<="
    case equal = "="
    case greaterOrEqual = ">="
    case greater = ">"

    package func holds(_ found: Double, _ wanted: Double) -> Bool {
        switch self {
        case .less: found < wanted
        case .lessOrEqual: found <= wanted
        case .equal: found == wanted
        case .greaterOrEqual: found >= wanted
        case .greater: found > wanted
        }
    }
}

/// A number and its text, so that it can be written again unchanged.
package struct FilterNumber: Hashable, Sendable {
    /// Times are in milliseconds.
    package var value: Double
    package var text: String

    /// Digits with a sign and a fraction, at most 20 characters; nil for other text.
    package init?(_ text: String) {
        guard let value = Self.value(text, maySign: true) else { return nil }
        (self.value, self.text) = (value, text)
    }

    /// "200", "200ms", "1.5s", "2m", "1h".
    package init?(milliseconds text: String) {
        let number = text.prefix { !$0.isLetter }
        guard let factor = Self.units[String(text.dropFirst(number.count))],
            let value = Self.value(String(number), maySign: false)
        else { return nil }
        (self.value, self.text) = (value * factor, text)
    }

    private static let units = ["": 1.0, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000]
    private static let maximumLength = 20

    private static func value(_ text: String, maySign: Bool) -> Double? {
        var rest = text.utf8[...]
        guard rest.count <= maximumLength else { return nil }
        if maySign, rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let parts = rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(digits.contains) })
        else { return nil }
        return Double(text)
    }
}

/// Levels of urgency, lowest first.
package enum FilterPriority: String, Hashable, Sendable, CaseIterable {
    case debug
    case info
    case warning
    case error

    package var level: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}
