// Private values in texts, recognised by their form: relayd's lines, the journal, strings of
// JSON. One pass over the bytes, since a report has megabytes of them.

extension Redactor {
    /// Replaces what looks like a VIN, a session's hash, a position, a phone number, raw bytes or
    /// somebody's address in each line. Lines of JSON are treated as JSON.
    mutating func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.contains("{\"") { return json(String(line)) }
            var result: [UInt8] = []
            appendText(ArraySlice(line.utf8), of: nil, to: &result)
            return String(decoding: result, as: UTF8.self)
        }.joined(separator: "\n")
    }

    /// Whether a member's strings may be digits without being a phone number: IDs, and the options of
    /// relayd's configuration.
    private static func isNumeric(_ member: String) -> Bool {
        member.lowercased().contains("id") || ["value", "default"].contains(member)
    }

    /// - Parameter member: Name of the member that has this value; nil for a line of text.
    mutating func appendText(
        _ bytes: ArraySlice<UInt8>, of member: String?, to result: inout [UInt8]
    ) {
        let scan = TextScan(Array(bytes))
        if let member, scan.isPhoneNumber, !Self.isNumeric(member) {
            result += Self.markBytes
            count += 1
            return
        }
        var index = 0
        while index < scan.bytes.count {
            if let secret = scan.secret(at: index) {
                result += scan.bytes[index..<secret.lowerBound]
                result += Self.markBytes
                count += 1
                index = secret.upperBound
            } else {
                result.append(scan.bytes[index])
                index += 1
            }
        }
    }
}

/// One string or line, searched for secrets.
private struct TextScan {
    let bytes: [UInt8]
    /// Whether the text mentions a hash ID in hexadecimal: then short numbers are hash IDs, too.
    private let tellsHash: Bool
    /// Whether quoted text in it is a place or a person.
    private let tellsPlace: Bool

    /// Digits of a phone number (ITU-T E.164 has up to 15).
    private static let phoneDigits = 7...15
    /// Hexadecimal digits from which on a number is not a function, vendor or product ID.
    private static let longHexadecimal = 6
    /// Number of consecutive bytes that make a dump.
    private static let dumpBytes = 4
    /// ISO 3779.
    private static let vinLetters = 17
    /// Digits behind the point from which on a number is a position on earth, to some ten metres.
    private static let positionDigits = 4

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        tellsHash = text.contains("hash")
        tellsPlace = ["sendlocation", "waypoint", "dialnumber"].contains { text.contains($0) }
    }

    /// Whether all of it could be dialled: only digits and their separators.
    var isPhoneNumber: Bool {
        let digits = bytes.count { Self.isDigit($0) }
        return Self.phoneDigits.contains(digits)
            && bytes.allSatisfy { Self.isDigit($0) || " +-/()".utf8.contains($0) }
    }

    /// The range to remove if a secret begins at `index`; a name in front of it stays.
    func secret(at index: Int) -> Range<Int>? {
        let byte = bytes[index]
        if byte == UInt8(ascii: "\""), tellsPlace { return quoted(at: index) }
        guard isBoundary(index) else { return nil }
        if byte == UInt8(ascii: "+") || Self.isDigit(byte), let phone = phone(at: index) {
            return phone
        }
        guard Self.isWord(byte) else { return nil }
        return dump(at: index) ?? hexadecimal(at: index) ?? vin(at: index) ?? position(at: index)
            ?? hashChange(at: index) ?? assignment(at: index)
    }

    // MARK: Forms

    /// The content of "…" without its quotes, which are escaped where this is a string of JSON.
    private func quoted(at index: Int) -> Range<Int>? {
        let quotes = bytes[..<index].count { $0 == UInt8(ascii: "\"") }
        guard quotes.isMultiple(of: 2),
            let end = bytes[(index + 1)...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        let isEscaped = bytes[end - 1] == UInt8(ascii: "\\")
        let last = isEscaped ? end - 1 : end
        return index + 1 < last ? index + 1..<last : nil
    }

    /// "+41 79 123 45 67", "0041791234567", "079 123 45 67", "555-123-4567".
    private func phone(at index: Int) -> Range<Int>? {
        let isInternational = bytes[index] == UInt8(ascii: "+")
        guard isInternational || index == 0 || bytes[index - 1] != UInt8(ascii: ".") else {
            return nil
        }
        var end = index + (isInternational ? 1 : 0)
        var groups = [0]
        var cursor = end
        while cursor < bytes.count {
            if Self.isDigit(bytes[cursor]) {
                groups[groups.count - 1] += 1
                end = cursor + 1
            } else if " -/().".utf8.contains(bytes[cursor]) {
                // Two separators stand between columns, except in " (0)".
                let before = bytes[cursor - 1]
                let isPair = bytes[cursor] == UInt8(ascii: "(") || before == UInt8(ascii: ")")
                guard Self.isDigit(before) || isPair else { break }
                if Self.isDigit(before) { groups.append(0) }
            } else {
                break
            }
            cursor += 1
        }
        // Followed directly by a letter, it is something else: an ID, a size.
        if end < bytes.count, Self.isWord(bytes[end]) || bytes[end] == UInt8(ascii: ":") {
            return nil
        }
        groups.removeAll { $0 == 0 }
        let digits = groups.reduce(0, +)
        guard Self.phoneDigits.contains(digits) else { return nil }
        let isNational = bytes[index] == UInt8(ascii: "0") && digits >= 9 && groups[0] > 1
        let isAmerican = groups == [3, 3, 4] || groups == [1, 3, 3, 4]
        return isInternational || isNational || isAmerican ? index..<end : nil
    }

    /// "00 10 4f 9a …".
    private func dump(at index: Int) -> Range<Int>? {
        var end = index
        var count = 0
        var cursor = index
        while cursor + 1 < bytes.count, Self.isHexadecimal(bytes[cursor]),
            Self.isHexadecimal(bytes[cursor + 1]),
            cursor + 2 == bytes.count || !Self.isWord(bytes[cursor + 2])
        {
            count += 1
            end = cursor + 2
            guard end < bytes.count, bytes[end] == UInt8(ascii: " ") else { break }
            cursor = end + 1
        }
        return count >= Self.dumpBytes ? index..<end : nil
    }

    /// "0x7a1debef".
    private func hexadecimal(at index: Int) -> Range<Int>? {
        guard index + 2 < bytes.count, bytes[index] == UInt8(ascii: "0"),
            bytes[index + 1] | 0x20 == UInt8(ascii: "x")
        else { return nil }
        let digits = bytes[(index + 2)...].prefix { Self.isHexadecimal($0) }
        guard !digits.isEmpty, tellsHash || digits.count >= Self.longHexadecimal else { return nil }
        return index..<digits.endIndex
    }

    private func vin(at index: Int) -> Range<Int>? {
        let word = bytes[index...].prefix { Self.isWord($0) }
        guard word.count == Self.vinLetters, word.contains(where: { Self.isDigit($0) }),
            word.contains(where: { !Self.isDigit($0) }),
            word.allSatisfy({ letter in
                Self.isDigit(letter)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter)
                        && !"IOQ".utf8.contains(letter)
            })
        else { return nil }
        return word.startIndex..<word.endIndex
    }

    /// "latitudeDegrees=48.137", "48.1371, 11.5754".
    private func position(at index: Int) -> Range<Int>? {
        let word = bytes[index...].prefix { Self.isWord($0) }
        let name = String(decoding: word, as: UTF8.self).lowercased()
        if name.hasPrefix("latitude") || name.hasPrefix("longitude") {
            let start = skip(" \":=\\", from: word.endIndex)
            guard start > word.endIndex, let end = decimal(at: start) else { return nil }
            return index..<end.end
        }
        guard let first = decimal(at: index), first.digits >= Self.positionDigits else {
            return nil
        }
        let start = skip(" ,;/", from: first.end)
        guard start > first.end, let second = decimal(at: start),
            second.digits >= Self.positionDigits
        else { return nil }
        return index..<second.end
    }

    /// The new hash, which follows the name in the line of OnHashChange.
    private func hashChange(at index: Int) -> Range<Int>? {
        let name = Array("OnHashChange".utf8)
        guard bytes[index...].starts(with: name) else { return nil }
        let start = skip(" ", from: index + name.count)
        guard start >= index + name.count + 2, start < bytes.count else { return nil }
        let word = bytes[start...].prefix { $0 != UInt8(ascii: " ") }
        return word.startIndex..<word.endIndex
    }

    /// "vin=…", as lines show members, up to the next one.
    private func assignment(at index: Int) -> Range<Int>? {
        let name = bytes[index...].prefix { Self.isWord($0) || $0 == UInt8(ascii: "_") }
        guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: "="),
            Redactor.isSensitive(String(decoding: name, as: UTF8.self))
        else { return nil }
        let start = name.endIndex + 1
        let value = bytes[start...].prefix { !" &\"\\".utf8.contains($0) }
        return value.isEmpty ? nil : start..<value.endIndex
    }

    // MARK: Pieces

    /// Whether a word could begin here; an escape of JSON such as \n is not part of one.
    private func isBoundary(_ index: Int) -> Bool {
        guard index > 0, Self.isWord(bytes[index - 1]) else { return true }
        return index > 1 && bytes[index - 2] == UInt8(ascii: "\\")
    }

    private func skip(_ characters: String, from start: Int) -> Int {
        bytes[start...].prefix { characters.utf8.contains($0) }.endIndex
    }

    private func decimal(at start: Int) -> (end: Int, digits: Int)? {
        let whole = bytes[start...].drop { $0 == UInt8(ascii: "-") }.prefix { Self.isDigit($0) }
        guard !whole.isEmpty, whole.endIndex < bytes.count,
            bytes[whole.endIndex] == UInt8(ascii: ".")
        else { return nil }
        let fraction = bytes[(whole.endIndex + 1)...].prefix { Self.isDigit($0) }
        return fraction.isEmpty ? nil : (fraction.endIndex, fraction.count)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || byte >= 0x80
    }
}
