/// How many terminal columns a text takes, and making it take fewer.
///
/// Used by `Table` and `StatusText`. Own table instead of the C library's `wcwidth`, which depends
/// on the locale of the process.
extension String {
    /// Columns on a terminal; East Asian wide characters and emoji take two.
    var columns: Int {
        // Nearly every text.
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.columns }
    }

    /// Filled up with spaces to `width` columns; unchanged when it is wider.
    func padded(to width: Int, alignRight: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - columns))
        return alignRight ? space + self : self + space
    }

    /// At most `width` columns, the end replaced by "…".
    func shortened(to width: Int) -> String {
        columns <= width ? self : prefix(columns: width - 1) + (width > 0 ? "…" : "")
    }

    /// At most `width` columns, the middle replaced by "…": for addresses, whose ends matter.
    func shortenedInMiddle(to width: Int) -> String {
        guard columns > width, width > 2 else { return shortened(to: width) }
        let tail = String(reversed()).prefix(columns: (width - 1) / 2)
        return prefix(columns: width - 1 - tail.columns) + "…" + String(tail.reversed())
    }

    /// As many characters as fit `width` columns.
    func prefix(columns width: Int) -> String {
        var kept = ""
        var used = 0
        for character in self {
            used += character.columns
            if used > width { break }
            kept.append(character)
        }
        return kept
    }
}

extension Character {
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        if first.isASCII, utf8.count == 1 { return 1 }
        // VARIATION SELECTOR-16 asks for the emoji form of a character that also has a text form.
        let isEmoji =
            first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}")
        if isEmoji, !first.isASCII { return 2 }
        // Terminals know nothing of clusters that are more than marks on a letter, such as those of
        // Devanagari: each letter has its column.
        return unicodeScalars.reduce(0) { $0 + $1.columns }
    }
}

extension Unicode.Scalar {
    fileprivate var columns: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch value {
        // Vowels and finals of Hangul stand in the columns of the consonant before them.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        default: return isWide ? 2 : 1
        }
    }

    /// East_Asian_Width W or F of Unicode, rounded to blocks.
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x17000...0x18DFF, 0x1B000...0x1B2FF, 0x1F200...0x1F2FF,
            0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
