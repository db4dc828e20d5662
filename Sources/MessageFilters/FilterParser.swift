/// Reads a filter as people write it. Used by `FilterExpression`.
///
///     any  := all ("|" all)*               also "or"
///     all  := not+                         also with "and" between
///     not  := "!"* ("(" any ")" | term)    also "not"
///     term := key operator value | word | "quoted words" | @name
struct FilterParser {
    /// In Unicode scalars.
    static let maximumLength = 2000
    static let maximumTerms = 64
    /// Maximum nesting of brackets.
    static let maximumDepth = 16

    private let letters: [Unicode.Scalar]
    private let names: FilterNames
    private var at = 0
    private var depth = 0
    private var count = 0

    init(_ text: String, names: FilterNames) {
        letters = Array(text.unicodeScalars.prefix(Self.maximumLength + 1))
        self.names = names
    }

    mutating func whole() throws(FilterError) -> FilterExpression.Node {
        guard letters.count <= Self.maximumLength else {
            throw FilterError(
                Self.maximumLength..<Self.maximumLength + 1,
                "a filter may have \(Self.maximumLength) characters, this one has more")
        }
        skipBlanks()
        guard at < letters.count else { return .all([]) }
        let node = try alternatives()
        if at < letters.count {
            throw FilterError(at..<at + 1, "this ) closes nothing")
        }
        return node
    }

    // MARK: Structure

    private mutating func alternatives() throws(FilterError) -> FilterExpression.Node {
        var nodes = [try conjunction()]
        while takeOr() { nodes.append(try conjunction()) }
        return nodes.count == 1 ? nodes[0] : .any(nodes)
    }

    private mutating func conjunction() throws(FilterError) -> FilterExpression.Node {
        var nodes = [try negation()]
        while true {
            skipBlanks()
            let takesAnother = takeWord("and")
            skipBlanks()
            guard takesAnother || !isAtEndOfAll else { break }
            nodes.append(try negation())
        }
        return FilterExpression.Node.together(nodes)
    }

    private var isAtEndOfAll: Bool {
        at == letters.count || letters[at] == ")" || letters[at] == "|" || isWord("or")
    }

    private mutating func takeOr() -> Bool {
        skipBlanks()
        if at < letters.count, letters[at] == "|" {
            at += 1
            // Many people write `||`.
            if at < letters.count, letters[at] == "|" { at += 1 }
            return true
        }
        return takeWord("or")
    }

    private mutating func negation() throws(FilterError) -> FilterExpression.Node {
        var isNegated = false
        while true {
            skipBlanks()
            if at < letters.count, letters[at] == "!" {
                at += 1
            } else if !takeWord("not") {
                break
            }
            isNegated.toggle()
        }
        let node = try primary()
        return isNegated ? node.negated : node
    }

    private mutating func primary() throws(FilterError) -> FilterExpression.Node {
        guard at < letters.count else {
            throw FilterError(at..<at, "the filter ends here; expected \(Self.example)")
        }
        switch letters[at] {
        case "(": return try brackets()
        case ")", "|":
            throw FilterError(at..<at + 1, "found \(letters[at]); expected \(Self.example)")
        default:
            for word in ["and", "or"] where isWord(word) {
                throw FilterError(
                    at..<at + word.utf8.count, "found \(word); expected \(Self.example)")
            }
            return try term()
        }
    }

    private mutating func brackets() throws(FilterError) -> FilterExpression.Node {
        let start = at
        guard depth < Self.maximumDepth else {
            throw FilterError(
                start..<start + 1, "more than \(Self.maximumDepth) brackets inside each other")
        }
        depth += 1
        defer { depth -= 1 }
        at += 1
        let node = try alternatives()
        guard at < letters.count else {
            throw FilterError(start..<start + 1, "this ( is never closed")
        }
        at += 1
        return node
    }

    private static let example = "something such as rpc:Show"

    // MARK: Terms

    private mutating func term() throws(FilterError) -> FilterExpression.Node {
        let start = at
        count += 1
        guard count <= Self.maximumTerms else {
            throw FilterError(
                start..<start + 1, "a filter may have \(Self.maximumTerms) terms, this one has more"
            )
        }
        if letters[at] == "\"" {
            return .term(.text(TextPattern(try quoted(mayBeEmpty: false))))
        }
        if letters[at] == "@" { return try saved() }
        if let node = try keyed() { return node }
        let word = unquoted()
        let range = start..<at
        try expectEnd()
        if word.lowercased() == "ok" { return .term(.ok) }
        if Self.isParameter(word) {
            return .term(.parameter(try path(word, range), .exists))
        }
        if word.utf8.contains(UInt8(ascii: "*")) {
            throw FilterError(
                range,
                "a * stands for any letters in names only: rpc:\(word); in quotes it is a letter")
        }
        return .term(.text(TextPattern(word)))
    }

    /// Parses `key operator value`; nil when no operator follows the letters.
    private mutating func keyed() throws(FilterError) -> FilterExpression.Node? {
        let start = at
        var end = at
        while end < letters.count, Self.isPartOfKey(letters[end]) { end += 1 }
        guard end > start, letters[start].properties.isAlphabetic,
            let (sign, length) = sign(at: end)
        else { return nil }
        let key = text(start..<end)
        at = end + length
        let valueStart = at
        // A parameter may be empty; for any other key, an empty value would have no meaning.
        let (value, isQuoted) = try value(
            behind: start..<end,
            mayBeEmpty: Self.isParameter(key) && (sign == .same || sign == .different))
        let wanted = Wanted(
            key: start..<end, sign: sign, signRange: end..<end + length, value: value,
            isQuoted: isQuoted, range: valueStart..<at)
        let term = try term(key, wanted)
        return sign == .different ? .not(.term(term)) : .term(term)
    }

    enum Sign: String {
        case fits = ":"
        case contains = "~"
        case same = "="
        case different = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greaterOrEqual = ">="
        case greater = ">"
    }

    struct Wanted {
        var key: Range<Int>
        var sign: Sign
        var signRange: Range<Int>
        var value: String
        var isQuoted: Bool
        /// The range of the value, quotes included.
        var range: Range<Int>
    }

    private func sign(at index: Int) -> (Sign, length: Int)? {
        guard index < letters.count else { return nil }
        let isEqual = index + 1 < letters.count && letters[index + 1] == "="
        switch letters[index] {
        case ":": return (.fits, 1)
        case "~": return (.contains, 1)
        case "=": return (.same, 1)
        case "!": return isEqual ? (.different, 2) : nil
        case "<": return isEqual ? (.lessOrEqual, 2) : (.less, 1)
        case ">": return isEqual ? (.greaterOrEqual, 2) : (.greater, 1)
        default: return nil
        }
    }

    private mutating func value(
        behind key: Range<Int>, mayBeEmpty: Bool
    ) throws(FilterError) -> (text: String, isQuoted: Bool) {
        if at < letters.count, letters[at] == "\"" {
            return (try quoted(mayBeEmpty: mayBeEmpty), true)
        }
        let text = unquoted()
        guard !text.isEmpty else {
            throw FilterError(
                key.lowerBound..<at, "expected a value behind \(self.text(key.lowerBound..<at))")
        }
        try expectEnd()
        return (text, false)
    }

    /// At a quote: reads the text up to the next one, with `\"` and `\\` as escapes for these two.
    private mutating func quoted(mayBeEmpty: Bool) throws(FilterError) -> String {
        let start = at
        var scalars = String.UnicodeScalarView()
        at += 1
        while at < letters.count {
            switch letters[at] {
            case "\"":
                at += 1
                try expectEnd()
                guard !scalars.isEmpty || mayBeEmpty else {
                    throw FilterError(start..<at, "nothing in the quotes; expected a value")
                }
                return String(scalars)
            case "\\"
            where at + 1 < letters.count
                && (letters[at + 1] == "\"" || letters[at + 1] == "\\"):
                scalars.append(letters[at + 1])
                at += 2
            default:
                scalars.append(letters[at])
                at += 1
            }
        }
        throw FilterError(start..<start + 1, "this quote is never closed")
    }

    private mutating func unquoted() -> String {
        let start = at
        while at < letters.count, !Self.endsWord(letters[at]), letters[at] != "\"" { at += 1 }
        return text(start..<at)
    }

    private func expectEnd() throws(FilterError) {
        guard at < letters.count, !Self.endsWord(letters[at]) else { return }
        throw FilterError(at..<at + 1, "expected a blank here")
    }

    private mutating func saved() throws(FilterError) -> FilterExpression.Node {
        let start = at
        at += 1
        let name = unquoted()
        let range = start..<at
        guard let saved = names.saved else {
            throw FilterError(range, names.withoutSaved)
        }
        guard let text = saved(name) else {
            throw FilterError(
                range, "no filter is saved as '\(name)'; relayctl filter lists them")
        }
        var inner = FilterNames(functions: names.functions)
        inner.withoutSaved = FilterNames.notInsideAnother
        var parser = FilterParser(text, names: inner)
        parser.depth = depth + 1
        parser.count = count
        do throws(FilterError) {
            let node = try parser.whole()
            count = parser.count
            guard node != .all([]) else { throw FilterError(range, "it is empty") }
            return node
        } catch {
            throw FilterError(range, "in the saved '\(name)': \(error.message)")
        }
    }

    // MARK: Letters

    private mutating func skipBlanks() {
        while at < letters.count, letters[at].properties.isWhitespace { at += 1 }
    }

    /// Whether the word stands here by itself, in any case.
    private func isWord(_ word: String) -> Bool {
        let length = word.utf8.count
        guard at + length <= letters.count, text(at..<at + length).lowercased() == word else {
            return false
        }
        return at + length == letters.count || Self.endsWord(letters[at + length])
    }

    private mutating func takeWord(_ word: String) -> Bool {
        guard isWord(word) else { return false }
        at += word.utf8.count
        return true
    }

    private func text(_ range: Range<Int>) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: letters[range])
        return String(scalars)
    }

    private static func endsWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "(" || scalar == ")" || scalar == "|"
    }

    private static func isPartOfKey(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII
            && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || "_-.[]".unicodeScalars.contains(scalar))
    }

    /// The functions of the RPC specification.
    var functions: [String] { names.functions }
}

extension FilterExpression.Node {
    var negated: FilterExpression.Node {
        if case .not(let node) = self { return node }
        return .not(self)
    }

    /// Combines `nodes` so that all must hold; terms of one key that name things are alternatives.
    static func together(_ nodes: [FilterExpression.Node]) -> FilterExpression.Node {
        guard nodes.count > 1 else { return nodes.first ?? .all([]) }
        var together: [FilterExpression.Node] = []
        var places: [String: Int] = [:]
        for node in nodes {
            guard let key = node.alternatives.first?.groupingKey else {
                together.append(node)
                continue
            }
            if let place = places[key] {
                together[place] = .either(together[place].alternatives + node.alternatives)
            } else {
                places[key] = together.count
                together.append(node)
            }
        }
        return together.count == 1 ? together[0] : .all(together)
    }

    /// The terms of which one must hold; empty for any other node.
    private var alternatives: [FilterTerm] {
        switch self {
        case .term(let term): [term]
        case .either(let terms): terms
        default: []
        }
    }
}

extension FilterTerm {
    /// Neighbouring terms with the same key are alternatives: no message belongs to two apps.
    fileprivate var groupingKey: String? {
        switch self {
        case .app: "app"
        case .name(let key, _, _): key.rawValue
        case .result: "result"
        case .number(let key, .equal, _): key.rawValue
        default: nil
        }
    }
}
