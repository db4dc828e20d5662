// The values that each key of a filter accepts.

import DidYouMean

extension FilterParser {
    private static let keys =
        ["app", "rpc", "kind", "service", "from", "result", "ok", "priority"]
        + FilterTerm.NumberKey.allCases.map(\.rawValue) + ["text", "param"]
    /// Names that other tools use for the keys.
    private static let others = [
        "accessory": "from:unit", "application": "app", "code": "result", "correlation": "corr",
        "correlation_id": "corr", "direction": "from", "failed": "!ok", "function": "rpc",
        "grep": "text", "latency": "ms", "latency_ms": "ms", "level": "priority", "name": "rpc",
        "number": "n", "params": "param", "result_code": "result", "size": "bytes",
        "slower": "ms", "success": "ok", "type": "kind",
    ]

    /// The term `key:value` with any characters in the value. Errors point at the value.
    func term(_ key: String, _ value: String) throws(FilterError) -> FilterTerm {
        let range = 0..<value.unicodeScalars.count
        return try term(
            key,
            Wanted(
                key: range, sign: .fits, signRange: range, value: value, isQuoted: false,
                range: range))
    }

    func term(_ key: String, _ wanted: Wanted) throws(FilterError) -> FilterTerm {
        let lower = key.lowercased()
        if let key = FilterTerm.NameKey(rawValue: lower) { return try name(key, wanted) }
        if let key = FilterTerm.NumberKey(rawValue: lower) { return try number(key, wanted) }
        switch lower {
        case "app":
            let pattern = try pattern(wanted)
            let digits = wanted.value.hasPrefix("#") ? wanted.value.dropFirst() : wanted.value[...]
            guard !wanted.isQuoted, let connection = Self.connection(digits) else {
                return .app(pattern, connection: nil)
            }
            // Many IDs contain digits.
            return .app(TextPattern(wanted.value, .whole), connection: connection)
        case "result": return .result(try pattern(wanted))
        case "priority": return try priority(wanted)
        case "text":
            try allow(wanted, [.fits, .contains])
            return .text(TextPattern(wanted.value))
        case "ok":
            throw FilterError(wanted.signRange, "ok stands alone; !ok is what went wrong")
        default:
            guard Self.isParameter(key) else {
                throw FilterError(wanted.key, Self.unknown(lower))
            }
            return .parameter(try path(key, wanted.key), try test(wanted))
        }
    }

    private static func unknown(_ key: String) -> String {
        let start = "there is no key '\(key)'"
        if let other = others[key] ?? Spelling.nearest(key, in: keys) {
            return "\(start); did you mean '\(other)'?"
        }
        return
            "\(start); known: \(keys.joined(separator: ", ")). Text with such a sign needs quotes"
    }

    private func allow(_ wanted: Wanted, _ signs: [Sign]) throws(FilterError) {
        guard !signs.contains(wanted.sign) else { return }
        let known = signs.map(\.rawValue).joined(separator: " ")
        throw FilterError(
            wanted.signRange, "found \(wanted.sign.rawValue); this key takes \(known)")
    }

    /// With `:` and `~`, a name is a part or has wildcards; with `=`, it is the whole name.
    private func pattern(_ wanted: Wanted) throws(FilterError) -> TextPattern {
        try allow(wanted, [.fits, .contains, .same, .different])
        return Self.pattern(of: wanted)
    }

    private static func pattern(of wanted: Wanted) -> TextPattern {
        let isWhole = wanted.sign == .same || wanted.sign == .different
        if isWhole { return TextPattern(wanted.value, .whole) }
        return TextPattern(typed: wanted.value)
    }

    /// Parses a number that consists of digits only: a connection or an index.
    private static func connection(_ text: Substring) -> UInt64? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return text.utf8.allSatisfy(digits.contains) ? UInt64(text) : nil
    }

    private func name(
        _ key: FilterTerm.NameKey, _ wanted: Wanted
    ) throws(FilterError) -> FilterTerm {
        let pattern = try pattern(wanted)
        let words = key == .rpc ? functions : key.words + (key == .from ? ["accessory"] : [])
        let names = pattern.chosen(from: words)
        guard !names.isEmpty else {
            let hint = Spelling.nearest(wanted.value, in: words).map { "; did you mean '\($0)'?" }
            let what = "no \(key == .rpc ? "RPC" : key.rawValue) is called '\(wanted.value)'"
            let rest = key == .rpc ? "" : "; known: " + key.words.joined(separator: ", ")
            throw FilterError(wanted.range, what + (hint ?? rest))
        }
        return .name(key, pattern, names: Set(names.map { $0 == "accessory" ? "unit" : $0 }))
    }

    private func priority(_ wanted: Wanted) throws(FilterError) -> FilterTerm {
        try allow(wanted, [.fits, .same, .different])
        guard let priority = FilterPriority(rawValue: wanted.value.lowercased()) else {
            let known = FilterPriority.allCases.map(\.rawValue)
            let hint = Spelling.nearest(wanted.value, in: known).map { "; did you mean '\($0)'?" }
            throw FilterError(
                wanted.range,
                "no priority is called '\(wanted.value)'"
                    + (hint ?? "; known: " + known.joined(separator: ", ")))
        }
        return .priority(priority, isExact: wanted.sign != .fits)
    }

    private func number(
        _ key: FilterTerm.NumberKey, _ wanted: Wanted
    ) throws(FilterError) -> FilterTerm {
        try allow(
            wanted,
            [.fits, .same, .different, .less, .lessOrEqual, .greaterOrEqual, .greater])
        let number =
            key == .milliseconds
            ? FilterNumber(milliseconds: wanted.value) : FilterNumber(wanted.value)
        guard let number else {
            let expected = key == .milliseconds ? "a time such as 200, 200ms or 2s" : "a number"
            throw FilterError(
                wanted.range, "\(key.rawValue) is '\(wanted.value)'; expected \(expected)")
        }
        return .number(key, Self.order(of: wanted.sign) ?? .equal, number)
    }

    private static func order(of sign: Sign) -> NumberOrder? {
        switch sign {
        case .fits, .contains, .same, .different: nil
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greaterOrEqual: .greaterOrEqual
        case .greater: .greater
        }
    }

    // MARK: Parameters

    private func test(_ wanted: Wanted) throws(FilterError) -> FilterTerm.ParameterTest {
        switch wanted.sign {
        case .fits, .contains: return .contains(Self.pattern(of: wanted))
        case .same, .different:
            return .equals(
                Self.pattern(of: wanted),
                number: wanted.isQuoted ? nil : FilterNumber(wanted.value))
        default:
            guard let order = Self.order(of: wanted.sign), let number = FilterNumber(wanted.value)
            else {
                throw FilterError(wanted.range, "found '\(wanted.value)'; expected a number")
            }
            return .number(order, number)
        }
    }

    /// Whether the key is meant as a parameter, even if its path is wrong.
    static func isParameter(_ key: String) -> Bool {
        let lower = key.lowercased()
        return lower == "param" || lower.hasPrefix("param.") || lower.hasPrefix("param[")
    }

    /// The steps of the path to a parameter: "param.softButtons[0].text".
    func path(_ text: String, _ range: Range<Int>) throws(FilterError) -> [FilterTerm.PathStep] {
        var steps: [FilterTerm.PathStep] = []
        var rest = text.dropFirst("param".count)[...]
        while let sign = rest.first {
            rest = rest.dropFirst()
            switch sign {
            case ".":
                let name = rest.prefix { $0 != "." && $0 != "[" && $0 != "]" }
                let isName = name.unicodeScalars.allSatisfy {
                    $0.isASCII && $0 != " " && $0 != "*" && $0 != "?" && $0 != "\""
                }
                guard !name.isEmpty, isName else { throw Self.brokenPath(range) }
                steps.append(.member(String(name)))
                rest = rest.dropFirst(name.count)
            case "[":
                let digits = rest.prefix { $0 != "]" }
                guard let index = Self.connection(digits).flatMap({ Int(exactly: $0) }),
                    digits.utf8.count <= 6, !steps.isEmpty
                else { throw Self.brokenPath(range) }
                rest = rest.dropFirst(digits.count)
                guard rest.first == "]" else { throw Self.brokenPath(range) }
                rest = rest.dropFirst()
                steps.append(.index(index))
            default: throw Self.brokenPath(range)
            }
        }
        guard (1...Self.maximumDepth).contains(steps.count) else { throw Self.brokenPath(range) }
        return steps
    }

    private static func brokenPath(_ range: Range<Int>) -> FilterError {
        FilterError(
            range, "expected a parameter such as param.mainField1 or param.softButtons[0].text")
    }
}
