/// A pattern for names and texts: a part, the whole text, or wildcards, with `*` for any characters and `?`
/// for any one. Case does not matter.
///
/// Whatever the inputs, a comparison takes time proportional to the text's length, or with wildcards at most
/// to the product of both lengths.
package struct TextPattern: Hashable, Sendable {
    package enum Mode: Hashable, Sendable {
        case part
        case whole
        case wildcards
    }

    package let text: String
    package let mode: Mode
    private let letters: [UInt32]
    /// For each letter of a part: how many letters before it also begin the part, so that a search never goes
    /// back (Knuth, Morris, Pratt).
    private let borders: [Int]

    /// Scalars of a text that are compared with wildcards.
    private static let maximumCompared = 4096
    private static let star = UInt32(UInt8(ascii: "*"))
    private static let any = UInt32(UInt8(ascii: "?"))

    package init(_ text: String, _ mode: Mode = .part) {
        self.text = text
        self.mode = mode
        var letters: [UInt32] = []
        for scalar in text.unicodeScalars { Self.fold(scalar) { letters.append($0) } }
        self.letters = letters
        borders = mode == .part ? Self.borders(of: letters) : []
    }

    /// A name as people type it: with wildcards, or a part.
    package init(typed text: String) {
        self.init(text, Self.hasWildcards(text) ? .wildcards : .part)
    }

    package static func hasWildcards(_ text: String) -> Bool {
        text.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }
    }

    package func matches(_ text: String) -> Bool {
        switch mode {
        case .part: isPart(of: text)
        case .whole: isWhole(text)
        case .wildcards: fits(text)
        }
    }

    /// Those of `names` that are meant: the one with exactly this name, or else all that contain it.
    package func chosen(from names: [String]) -> [String] {
        if mode == .part {
            let whole = names.filter(isWhole)
            if !whole.isEmpty { return whole }
        }
        return names.filter(matches)
    }

    // MARK: Comparing

    private func isPart(of text: String) -> Bool {
        guard !letters.isEmpty else { return true }
        var found = 0
        var isFound = false
        for scalar in text.unicodeScalars {
            Self.fold(scalar) { letter in
                guard !isFound else { return }
                while found > 0, letters[found] != letter { found = borders[found - 1] }
                if letters[found] == letter { found += 1 }
                if found == letters.count {
                    isFound = true
                    found = 0
                }
            }
            if isFound { return true }
        }
        return false
    }

    private static func borders(of letters: [UInt32]) -> [Int] {
        var borders = [Int](repeating: 0, count: letters.count)
        var length = 0
        for index in letters.indices.dropFirst() {
            while length > 0, letters[length] != letters[index] { length = borders[length - 1] }
            if letters[length] == letters[index] { length += 1 }
            borders[index] = length
        }
        return borders
    }

    private func isWhole(_ text: String) -> Bool {
        var at = 0
        var isSame = true
        for scalar in text.unicodeScalars {
            Self.fold(scalar) { letter in
                isSame = isSame && at < letters.count && letters[at] == letter
                at += 1
            }
            guard isSame else { return false }
        }
        return at == letters.count
    }

    /// Backtracks to the last star only: the match of an earlier star need not change.
    private func fits(_ text: String) -> Bool {
        var letters: [UInt32] = []
        for scalar in text.unicodeScalars.prefix(Self.maximumCompared) {
            Self.fold(scalar) { letters.append($0) }
        }
        var (at, pattern) = (0, 0)
        var star: (pattern: Int, at: Int)?
        while at < letters.count {
            if pattern < self.letters.count, self.letters[pattern] == Self.star {
                star = (pattern, at)
                pattern += 1
            } else if pattern < self.letters.count,
                self.letters[pattern] == Self.any || self.letters[pattern] == letters[at]
            {
                pattern += 1
                at += 1
            } else if let last = star {
                star = (last.pattern, last.at + 1)
                pattern = last.pattern + 1
                at = last.at + 1
            } else {
                return false
            }
        }
        return self.letters[pattern...].allSatisfy { $0 == Self.star }
    }

    /// Scalar by scalar, so that JavaScript can do the same.
    @inline(__always)
    private static func fold(_ scalar: Unicode.Scalar, _ take: (UInt32) -> Void) {
        let value = scalar.value
        if value < 0x80 {
            take((0x41...0x5A).contains(value) ? value | 0x20 : value)
        } else {
            for lower in scalar.properties.lowercaseMapping.unicodeScalars { take(lower.value) }
        }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.mode == right.mode && left.text == right.text
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(mode)
        hasher.combine(text)
    }
}
