/// The text inside JSON quotes, both ways.
enum JSONStrings {
    /// The unescaped text of a string token.
    ///
    /// - Parameter repaired: Set when the text was not valid Unicode; the invalid part becomes U+FFFD.
    static func text(_ token: JSONToken, in text: Span<UInt8>, repaired: inout Bool) -> String {
        let content = text.extracting(token.content)
        if token.isPlain { return string(content) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count)
        var at = 0
        while at < content.count {
            if content[at] == UInt8(ascii: "\\") {
                unescape(content, &at, to: &bytes, &repaired)
            } else {
                bytes.append(content[at])
                at += 1
            }
        }
        if let valid = String(validating: bytes, as: UTF8.self) { return valid }
        repaired = true
        return String(decoding: bytes, as: UTF8.self)
    }

    static func string(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Unescapes at a backslash; the grammar has been checked.
    private static func unescape(
        _ text: Span<UInt8>, _ at: inout Int, to bytes: inout [UInt8], _ repaired: inout Bool
    ) {
        let letter = text[at + 1]
        at += 2
        switch letter {
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            var value = unit(text, at)
            at += 4
            if value & 0xFC00 == 0xD800, at + 6 <= text.count, text[at] == UInt8(ascii: "\\"),
                text[at + 1] == UInt8(ascii: "u"), unit(text, at + 2) & 0xFC00 == 0xDC00
            {
                value = 0x10000 + (value & 0x3FF) << 10 + unit(text, at + 2) & 0x3FF
                at += 6
            }
            let scalar = Unicode.Scalar(value)
            if scalar == nil { repaired = true }
            UTF8.encode(scalar ?? "\u{FFFD}").map { bytes.append(contentsOf: $0) }
        default: bytes.append(letter)
        }
    }

    private static func unit(_ text: Span<UInt8>, _ at: Int) -> UInt32 {
        (0..<4).reduce(0) { value, offset in
            value << 4 | UInt32(HexText.value(of: text[at + offset]) ?? 0)
        }
    }

    /// Appends `string` in quotes, in ASCII throughout: openxc-python takes a first read with any other byte
    /// for protobuf. The JSON writer of SDL is not used here because it keeps printable non-ASCII characters.
    static func append(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 where !isOrdinary(byte) {
            appendCarefully(string, to: &text)
            text.append(UInt8(ascii: "\""))
            return
        }
        text.append(contentsOf: string.utf8)
        text.append(UInt8(ascii: "\""))
    }

    private static func isOrdinary(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func appendCarefully(_ string: String, to text: inout [UInt8]) {
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                text.append(UInt8(ascii: "\\"))
                text.append(UInt8(truncatingIfNeeded: scalar.value))
            case " "..."~": text.append(UInt8(truncatingIfNeeded: scalar.value))
            default: appendEscape(scalar, to: &text)
            }
        }
    }

    private static func appendEscape(_ scalar: Unicode.Scalar, to text: inout [UInt8]) {
        for unit in UTF16.encode(scalar) ?? .init() {
            text.append(contentsOf: "\\u".utf8)
            HexText.appendDigits(of: UInt8(truncatingIfNeeded: unit >> 8), to: &text)
            HexText.appendDigits(of: UInt8(truncatingIfNeeded: unit), to: &text)
        }
    }

    /// Appends JSON unchanged, but in ASCII and on one line. Non-ASCII characters occur only in strings,
    /// control characters only between the parts.
    static func append(_ fragment: JSONFragment, to text: inout [UInt8]) {
        for scalar in fragment.text.unicodeScalars {
            switch scalar {
            case " "..."~": text.append(UInt8(truncatingIfNeeded: scalar.value))
            case "\0"..<" ": text.append(UInt8(ascii: " "))
            default: appendEscape(scalar, to: &text)
            }
        }
    }
}
