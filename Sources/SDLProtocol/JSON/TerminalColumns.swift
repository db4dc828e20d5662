// How many columns of a terminal a text takes. Own table instead of the C library's `wcwidth`, which
// depends on the locale of the process. The log's lines and relayctl's tables are measured with it.

extension String {
    /// Columns on a terminal; East Asian wide characters and emoji take two.
    public var terminalColumns: Int {
        // True of nearly every text.
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.terminalColumns }
    }

    /// As many characters as fit `width` columns.
    public func prefix(terminalColumns width: Int) -> String {
        var kept = ""
        var used = 0
        for character in self {
            used += character.terminalColumns
            if used > width { break }
            kept.append(character)
        }
        return kept
    }
}

extension Character {
    fileprivate var terminalColumns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        if first.isASCII, utf8.count == 1 { return 1 }
        // VARIATION SELECTOR-16 asks for the emoji form of a character that also has a text form.
        let isEmoji =
            first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}")
        if isEmoji, !first.isASCII { return 2 }
        // Terminals know nothing of clusters that are more than marks on a letter, such as those of
        // Devanagari: each letter has its column.
        return unicodeScalars.reduce(0) { $0 + $1.terminalColumns }
    }
}

extension Unicode.Scalar {
    fileprivate var terminalColumns: Int {
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
