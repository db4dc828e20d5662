// How single values are judged: kind, bounds, length, and the words of enumerations.

import NIOCore

extension ValidationWalk {
    /// Unicode scalars shown of what was found.
    static let foundLimit = 40
    /// The most words of an enumeration that are named; for larger ones only the number is told.
    private static let maximumWords = 6

    // MARK: Arrays and objects

    mutating func checkArray(
        _ member: Int, _ text: Span<UInt8>, _ at: inout Int
    ) throws(JSONError) {
        guard text[at] == UInt8(ascii: "[") else {
            let value = try JSONScanner.value(text, &at)
            reportWrongType(value, member, expected: "an array")
            return
        }
        at += 1
        let start = problems.count
        var count = 0
        JSONScanner.skipWhitespace(text, &at)
        while at < text.count, text[at] != UInt8(ascii: "]") {
            let first = problems.count
            try checkValue(member, text, &at)
            if problems.count > first { endElement(count, from: first, arraySince: start) }
            count += 1
            JSONScanner.skipWhitespace(text, &at)
            if at < text.count, text[at] == UInt8(ascii: ",") {
                at += 1
                JSONScanner.skipWhitespace(text, &at)
            }
        }
        at += 1
        let minimum = Int(index.members[member].minimumSize)
        let maximum = Int(index.members[member].maximumSize)
        if !isFull, count < minimum || count > maximum { reportSize(count, minimum, maximum) }
    }

    private mutating func checkObject(
        _ group: Int, _ text: Span<UInt8>, _ at: inout Int
    ) throws(JSONError) {
        at += 1
        var seen: UInt64 = 0
        JSONScanner.skipWhitespace(text, &at)
        while at < text.count, text[at] != UInt8(ascii: "}") {
            let key = try JSONScanner.key(text, &at)
            try check(key, in: group, text, &at, &seen)
            JSONScanner.skipWhitespace(text, &at)
            if at < text.count, text[at] == UInt8(ascii: ",") {
                at += 1
                JSONScanner.skipWhitespace(text, &at)
            }
        }
        at += 1
        checkMandatory(of: group, seen: seen, isNested: true)
    }

    // MARK: Values

    /// Checks the value at `at`, or one element of an array, and moves behind it.
    mutating func checkValue(
        _ member: Int, _ text: Span<UInt8>, _ at: inout Int
    ) throws(JSONError) {
        let kind = index.members[member].kind
        if kind == .structure, text[at] == UInt8(ascii: "{") {
            let group = Int(index.members[member].group)
            if group >= 0 { return try checkObject(group, text, &at) }
        }
        let value = try JSONScanner.value(text, &at)
        switch (kind, value.kind) {
        case (.boolean, .bool): break
        case (.integer, .number): checkInteger(member, value, text)
        case (.float, .number): checkRange(member, value, text)
        case (.string, .string): checkLength(member, value, text)
        case (.enumeration, .string): checkWord(member, value, text)
        default: reportWrongType(value, member)
        }
    }

    private mutating func checkInteger(
        _ member: Int, _ value: JSONToken, _ text: Span<UInt8>
    ) {
        for at in value.range {
            let byte = text[at]
            // A fraction or an exponent.
            guard byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") else { continue }
            reportWrongType(value, member)
            return
        }
        checkRange(member, value, text)
    }

    private mutating func checkRange(_ member: Int, _ value: JSONToken, _ text: Span<UInt8>) {
        let (minimum, maximum) = (index.members[member].minimum, index.members[member].maximum)
        guard minimum != -.infinity || maximum != .infinity else { return }
        let number = Self.number(text, value.range)
        guard number < minimum || number > maximum, !isFull else { return }
        report(
            ValidationProblem(
                rule: .outOfRange, severity: sender == .app ? .error : .warning, path: "",
                found: self.text(of: value), expected: expected(member)))
    }

    private static func number(_ text: Span<UInt8>, _ range: Range<Int>) -> Double {
        // So few digits surely fit.
        if range.count <= 18 {
            var number: Int64 = 0
            var at = range.lowerBound
            let isNegative = text[at] == UInt8(ascii: "-")
            if isNegative { at += 1 }
            while at < range.upperBound, text[at] &- UInt8(ascii: "0") <= 9 {
                number = number * 10 + Int64(text[at] - UInt8(ascii: "0"))
                at += 1
            }
            if at == range.upperBound { return Double(isNegative ? -number : number) }
        }
        let digits = text.extracting(range).withUnsafeBufferPointer {
            String(decoding: $0, as: UTF8.self)
        }
        return Double(digits) ?? .nan
    }

    private mutating func checkLength(_ member: Int, _ value: JSONToken, _ text: Span<UInt8>) {
        let minimum = Int(index.members[member].minimumLength)
        let maximum = Int(index.members[member].maximumLength)
        let bytes = value.content.count
        // N bytes make at most N scalars, and at least one.
        if bytes <= maximum, minimum == 0 || minimum == 1 && bytes > 0 { return }
        guard !isFull else { return }
        var count = 0
        var at = value.content.lowerBound
        while at < value.content.upperBound {
            _ = JSONUnescaper.scalar(
                text, &at, end: value.content.upperBound, unescape: value.hasEscapes)
            count += 1
        }
        if count > maximum {
            report(
                ValidationProblem(
                    rule: .tooLong, severity: sender == .app ? .error : .warning, path: "",
                    found: Self.plural(count, "character"),
                    expected: "at most \(Self.plural(maximum, "character"))"))
        } else if count < minimum {
            // Head units send empty strings for what they do not know.
            report(
                ValidationProblem(
                    rule: .tooShort, severity: sender == .app ? .error : .note, path: "",
                    found: Self.plural(count, "character"),
                    expected: "at least \(Self.plural(minimum, "character"))"))
        }
    }

    private mutating func checkWord(_ member: Int, _ value: JSONToken, _ text: Span<UInt8>) {
        let group = Int(index.members[member].group)
        guard group >= 0 else { return }
        let found =
            value.hasEscapes
            ? self.member(of: group, named: JSONUnescaper.string(value, in: text))
            : index.member(of: group, named: text, value.content)
        if let found {
            let life = index.members[found].life
            if life.matters { checkLife(of: life, word: found) }
            return
        }
        guard !isFull else { return }
        let hint = nearest(to: self.text(of: value), in: group)
        report(
            ValidationProblem(
                rule: .unknownValue, severity: sender == .app ? .error : .warning, path: "",
                found: "\"\(self.text(of: value))\"", expected: expected(member),
                hint: hint))
    }

    // MARK: Words

    private mutating func reportWrongType(
        _ value: JSONToken, _ member: Int, expected: String? = nil
    ) {
        guard !isFull else { return }
        let found: String
        switch value.kind {
        case .object, .array, .null: found = value.kind.inWords
        case .string: found = "\"\(text(of: value))\""
        case .number, .bool: found = text(of: value)
        }
        // App libraries read 5.0 as 5, and null as a missing value.
        let isHarmless =
            sender == .accessory
            && (value.kind == .null
                || value.kind == .number && index.members[member].kind == .integer)
        report(
            ValidationProblem(
                rule: .wrongType, severity: isHarmless ? .note : .error, path: "", found: found,
                expected: expected ?? self.expected(member)))
    }

    private mutating func reportSize(_ count: Int, _ minimum: Int, _ maximum: Int) {
        let isTooMany = count > maximum
        let severity: ValidationSeverity = isTooMany ? .warning : .note
        report(
            ValidationProblem(
                rule: isTooMany ? .tooManyElements : .tooFewElements,
                severity: sender == .app ? .error : severity, path: "",
                found: Self.plural(count, "element"),
                expected: isTooMany
                    ? "at most \(Self.plural(maximum, "element"))"
                    : "at least \(Self.plural(minimum, "element"))"))
    }

    /// What a parameter takes, or one element of it if it is an array.
    func expected(_ member: Int) -> String {
        let definition = index.members[member]
        switch definition.kind {
        case .boolean: return "true or false"
        case .integer: return "an Integer" + range(definition)
        case .float: return "a number" + range(definition)
        case .string: return "a string"
        case .structure:
            guard definition.group >= 0 else { return "an object" }
            let source = Int(index.groups[Int(definition.group)].source)
            let name = catalogue.structs[source].name
            let hasVowel = name.first.map("AEIOU".contains) ?? false
            return "\(hasVowel ? "an" : "a") \(name) object"
        case .enumeration, .element:
            guard definition.group >= 0 else { return "a word" }
            let source = Int(index.groups[Int(definition.group)].source)
            let enumeration = catalogue.enums[source]
            guard enumeration.elements.count <= Self.maximumWords else {
                return "one of the \(enumeration.elements.count) values of \(enumeration.name)"
            }
            return "one of " + enumeration.elements.map(\.name).joined(separator: ", ")
        }
    }

    private func range(_ member: CatalogueIndex.Member) -> String {
        switch (member.minimum != -.infinity, member.maximum != .infinity) {
        case (true, true): " from \(Self.text(member.minimum)) to \(Self.text(member.maximum))"
        case (true, false): " of at least \(Self.text(member.minimum))"
        case (false, true): " of at most \(Self.text(member.maximum))"
        case (false, false): ""
        }
    }

    /// 5 and not 5.0.
    private static func text(_ number: Double) -> String {
        Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }

    private static func plural(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    /// The text of a key, string, number or bool, made safe to show.
    func text(of token: JSONToken) -> String {
        var line: [UInt8] = []
        PrintableText.append(
            token, of: message.parameters.bytes, to: &line, limit: Self.foundLimit)
        return String(decoding: line, as: UTF8.self)
    }
}
