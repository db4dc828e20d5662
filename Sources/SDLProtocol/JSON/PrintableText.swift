public import NIOCore

/// Makes text from peers safe to show to people, on a terminal, in a journal or in a JSON line: one
/// line, with nothing that moves a cursor or hides what is there.
public enum PrintableText {
    /// Whether a character may stand in a JSON line as it is (see `VisibleScalars`).
    public static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        !VisibleScalars.isInvisible(scalar)
    }

    /// Appends what is visible of `text`; tabs and line breaks become spaces.
    ///
    /// - Parameter limit: Unicode scalars after which the rest is replaced by "…".
    public static func append(_ text: String, to line: inout [UInt8], limit: Int = .max) {
        append(text.utf8.span, from: 0, to: &line, limit: limit, unescape: false)
    }

    /// Appends the text of a string of `object`, unescaped.
    public static func append(
        _ token: JSONToken, of bytes: ByteBuffer, to line: inout [UInt8], limit: Int = .max
    ) {
        let text = bytes.readableBytesUInt8Span
        let range = token.kind == .string ? token.content : token.range
        append(
            text.extracting(..<range.upperBound), from: range.lowerBound, to: &line, limit: limit,
            unescape: token.hasEscapes)
    }

    public static func string(_ text: String, limit: Int = .max) -> String {
        var line: [UInt8] = []
        append(text, to: &line, limit: limit)
        return String(decoding: line, as: UTF8.self)
    }

    private static func append(
        _ text: Span<UInt8>, from start: Int, to line: inout [UInt8], limit: Int, unescape: Bool
    ) {
        var at = start
        var left = limit
        var visible = VisibleScalars()
        func put(_ scalar: Unicode.Scalar, _ isVisible: Bool) {
            if isVisible {
                UTF8.encode(scalar).map { line.append(contentsOf: $0) }
            } else if scalar.properties.isWhitespace {
                line.append(UInt8(ascii: " "))
            }
        }
        while at < text.count {
            guard left > 0 else {
                line.append(contentsOf: "…".utf8)
                return
            }
            left -= 1
            let byte = text[at]
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\\") || !unescape {
                // True of nearly all characters of nearly every text; digits may begin an emoji.
                if at + 1 < text.count, text[at + 1] < 0x80 {
                    visible.finish(put)
                    line.append(byte)
                } else {
                    visible.push(Unicode.Scalar(byte), put)
                }
                at += 1
            } else {
                visible.push(
                    JSONUnescaper.scalar(text, &at, end: text.count, unescape: unescape), put)
            }
        }
        visible.finish(put)
    }

    /// As JSON writes it: `\u001B`, and two of these beyond the first plane.
    public static func appendEscape(_ scalar: Unicode.Scalar, to line: inout [UInt8]) {
        for unit in UTF16.encode(scalar) ?? .init() {
            line.append(contentsOf: "\\u".utf8)
            for shift in [12, 8, 4, 0] as [UInt16] {
                let digit = UInt8(truncatingIfNeeded: unit >> shift & 0xF)
                line.append(
                    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
            }
        }
    }

    /// `text` as a JSON string, quotes included.
    public static func jsonString(_ text: String) -> String {
        var json: [UInt8] = []
        appendJSONString(text, to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    /// Appends `text` as a JSON string, quotes included.
    public static func appendJSONString(_ text: String, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        appendJSONText(text, to: &line)
        line.append(UInt8(ascii: "\""))
    }

    /// Appends `text` as the inside of a JSON string.
    public static func appendJSONText(_ text: String, to line: inout [UInt8]) {
        let bytes = text.utf8.span
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                line.append(UInt8(ascii: "\\"))
                line.append(byte)
                at += 1
            } else if byte >= 0x20, byte < 0x7F {
                line.append(byte)
                at += 1
            } else {
                let scalar = JSONUnescaper.scalar(bytes, &at, end: bytes.count, unescape: false)
                if isPrintable(scalar) {
                    UTF8.encode(scalar).map { line.append(contentsOf: $0) }
                } else {
                    appendEscape(scalar, to: &line)
                }
            }
        }
    }
}
