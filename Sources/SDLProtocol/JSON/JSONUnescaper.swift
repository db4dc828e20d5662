/// Turns the text inside JSON quotes into Unicode, whatever a peer put there. Used by `JSONObject`, and by
/// the log for text of peers.
enum JSONUnescaper {
    /// The unescaped text of a string token.
    static func string(_ token: JSONToken, in text: Span<UInt8>) -> String {
        var scalars = String.UnicodeScalarView()
        var at = token.content.lowerBound
        while at < token.content.upperBound {
            scalars.append(
                scalar(text, &at, end: token.content.upperBound, unescape: token.hasEscapes))
        }
        return String(scalars)
    }

    /// The next Unicode scalar; invalid UTF-8 or UTF-16 becomes U+FFFD.
    static func scalar(
        _ text: Span<UInt8>, _ at: inout Int, end: Int, unescape: Bool
    ) -> Unicode.Scalar {
        let byte = text[at]
        if byte < 0x80 {
            at += 1
            guard unescape, byte == UInt8(ascii: "\\"), at < end else {
                return Unicode.Scalar(byte)
            }
            return escaped(text, &at, end: end)
        }
        return multibyte(text, &at, end: end)
    }

    /// What follows a backslash.
    private static func escaped(_ text: Span<UInt8>, _ at: inout Int, end: Int) -> Unicode.Scalar {
        let byte = text[at]
        at += 1
        switch byte {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: return Unicode.Scalar(byte)
        }
        guard let unit = codeUnit(text, at, end: end) else { return "\u{FFFD}" }
        at += 4
        guard (0xD800..<0xDC00).contains(unit) else {
            return Unicode.Scalar(unit) ?? "\u{FFFD}"
        }
        // A high surrogate needs its low half right behind it.
        guard at + 6 <= end, text[at] == UInt8(ascii: "\\"), text[at + 1] == UInt8(ascii: "u"),
            let low = codeUnit(text, at + 2, end: end), (0xDC00..<0xE000).contains(low)
        else { return "\u{FFFD}" }
        at += 6
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
    }

    private static func codeUnit(_ text: Span<UInt8>, _ at: Int, end: Int) -> UInt32? {
        guard at + 4 <= end else { return nil }
        var value: UInt32 = 0
        for offset in 0..<4 {
            guard let digit = JSONScanner.hexValue(text[at + offset]) else { return nil }
            value = value << 4 | digit
        }
        return value
    }

    /// UTF-8 of two to four bytes. Anything else becomes one U+FFFD for as many bytes as may begin a
    /// character (Unicode, "U+FFFD Substitution of Maximal Subparts"), as in Swift's own strings.
    static func multibyte(_ text: Span<UInt8>, _ at: inout Int, end: Int) -> Unicode.Scalar {
        let first = text[at]
        at += 1
        var (more, allowed): (UInt32, ClosedRange<UInt8>)
        switch first {
        case 0xC2...0xDF: (more, allowed) = (1, 0x80...0xBF)
        case 0xE0: (more, allowed) = (2, 0xA0...0xBF)
        case 0xED: (more, allowed) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (more, allowed) = (2, 0x80...0xBF)
        case 0xF0: (more, allowed) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (more, allowed) = (3, 0x80...0xBF)
        case 0xF4: (more, allowed) = (3, 0x80...0x8F)
        default: return "\u{FFFD}"
        }
        var value = UInt32(first) & (0x3F >> more)
        while more > 0 {
            guard at < end, allowed.contains(text[at]) else { return "\u{FFFD}" }
            value = value << 6 | UInt32(text[at] & 0x3F)
            at += 1
            more -= 1
            allowed = 0x80...0xBF
        }
        return Unicode.Scalar(value) ?? "\u{FFFD}"
    }
}
