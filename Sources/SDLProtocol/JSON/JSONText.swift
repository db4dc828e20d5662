// Turns the text inside JSON quotes into Unicode, whatever a peer put there; and prints JSON again
// in one line. Used by `JSONObject`, and by the log for text of peers.

import NIOCore

enum JSONText {
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

    /// The next Unicode scalar; what is no valid UTF-8 or UTF-16 becomes U+FFFD.
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

    /// UTF-8 of two to four bytes; a byte that fits nowhere is skipped alone.
    static func multibyte(_ text: Span<UInt8>, _ at: inout Int, end: Int) -> Unicode.Scalar {
        let first = text[at]
        at += 1
        let (more, smallest): (Int, UInt32)
        switch first {
        case 0xC2...0xDF: (more, smallest) = (1, 0x80)
        case 0xE0...0xEF: (more, smallest) = (2, 0x800)
        case 0xF0...0xF4: (more, smallest) = (3, 0x10000)
        default: return "\u{FFFD}"
        }
        guard at + more <= end else { return "\u{FFFD}" }
        var value = UInt32(first) & (0x3F >> UInt32(more))
        for offset in 0..<more {
            let byte = text[at + offset]
            guard byte & 0xC0 == 0x80 else { return "\u{FFFD}" }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        guard value >= smallest, let scalar = Unicode.Scalar(value) else { return "\u{FFFD}" }
        at += more
        return scalar
    }
}

extension JSONObject {
    /// The same object without whitespace between values; numbers and escapes stay as they are.
    ///
    /// Bytes that would break the line or a terminal are escaped, invalid UTF-8 is repaired.
    package func appendCompacted(to line: inout [UInt8]) {
        guard !members.isEmpty else {
            line.append(UInt8(ascii: "{"))
            line.append(UInt8(ascii: "}"))
            return
        }
        JSONCompactor.append(bytes.readableBytesUInt8Span, to: &line)
    }

    /// One value of the object in the same way.
    package func appendCompacted(_ token: JSONToken, to line: inout [UInt8]) {
        let text = bytes.readableBytesUInt8Span
        JSONCompactor.append(text.extracting(token.range), to: &line)
    }

    package var compacted: String {
        var line: [UInt8] = []
        appendCompacted(to: &line)
        return String(decoding: line, as: UTF8.self)
    }
}

/// Copies well-formed JSON run by run, leaving out what is not needed.
private enum JSONCompactor {
    static func append(_ text: Span<UInt8>, to line: inout [UInt8]) {
        line.reserveCapacity(line.count + text.count)
        var runStart = 0
        var isInString = false
        var at = 0
        while at < text.count {
            let byte = text[at]
            if isInString {
                if byte == UInt8(ascii: "\"") {
                    isInString = false
                } else if byte == UInt8(ascii: "\\") {
                    at += 2
                    continue
                } else if byte < 0x20 || byte >= 0x7F {
                    copy(text, runStart..<at, to: &line)
                    appendUnusual(text, &at, to: &line)
                    runStart = at
                    continue
                }
            } else if byte <= 0x20 {
                copy(text, runStart..<at, to: &line)
                JSONScanner.skipWhitespace(text, &at)
                runStart = at
                continue
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            }
            at += 1
        }
        copy(text, runStart..<text.count, to: &line)
    }

    private static func appendUnusual(
        _ text: Span<UInt8>, _ at: inout Int, to line: inout [UInt8]
    ) {
        let scalar = JSONText.scalar(text, &at, end: text.count, unescape: false)
        if PrintableText.isPrintable(scalar) {
            UTF8.encode(scalar).map { line.append(contentsOf: $0) }
        } else {
            PrintableText.appendEscape(scalar, to: &line)
        }
    }

    @inline(__always)
    private static func copy(_ text: Span<UInt8>, _ range: Range<Int>, to line: inout [UInt8]) {
        guard !range.isEmpty else { return }
        text.withUnsafeBufferPointer {
            line.append(contentsOf: UnsafeBufferPointer(rebasing: $0[range]))
        }
    }
}
