// Reads the JSON of app requests; hostile input ends in nil, never in a trap.

import NIOCore

extension JSON {
    /// Reads a whole text; white space and the NUL of v1 senders around it are allowed.
    init?(_ bytes: ByteBuffer) {
        var reader = JSONReader(bytes.readableBytesView)
        guard let value = reader.document() else { return nil }
        self = value
    }
}

private struct JSONReader {
    /// Real requests nest six levels deep.
    static let maximumDepth = 32

    private let bytes: ByteBufferView
    private var index: Int

    init(_ bytes: ByteBufferView) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    mutating func document() -> JSON? {
        guard let value = value(depth: 0) else { return nil }
        while let byte = peek(), byte == 0 || Self.isSpace(byte) { index += 1 }
        return index == bytes.endIndex ? value : nil
    }

    private mutating func value(depth: Int) -> JSON? {
        guard depth < Self.maximumDepth, let byte = nextSignificant() else { return nil }
        switch byte {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""): return string().map(JSON.string)
        case UInt8(ascii: "t"): return word("true", .bool(true))
        case UInt8(ascii: "f"): return word("false", .bool(false))
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> JSON? {
        index += 1
        var members: [JSON.Member] = []
        if take("}") { return .object([]) }
        repeat {
            guard nextSignificant() == UInt8(ascii: "\""), let key = string(), take(":"),
                let value = value(depth: depth + 1)
            else { return nil }
            members.append(JSON.Member(key: key, value: value))
        } while take(",")
        return take("}") ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> JSON? {
        index += 1
        var values: [JSON] = []
        if take("]") { return .array([]) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
        } while take(",")
        return take("]") ? .array(values) : nil
    }

    private mutating func string() -> String? {
        index += 1
        var text: [UInt8] = []
        while let byte = peek() {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text.append(contentsOf: String(Character(scalar)).utf8)
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = peek() else { return nil }
        index += 1
        switch byte {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "u"): return unicodeEscape()
        default: return nil
        }
    }

    private mutating func unicodeEscape() -> Unicode.Scalar? {
        guard let unit = hexUnit() else { return nil }
        guard (0xD800..<0xDC00).contains(unit) else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
        // A character outside the basic plane comes as two escapes.
        guard bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            return "\u{FFFD}"
        }
        index += 2
        guard let low = hexUnit() else { return nil }
        guard (0xDC00..<0xE000).contains(low) else { return "\u{FFFD}" }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
    }

    private mutating func hexUnit() -> UInt32? {
        guard bytes.endIndex - index >= 4 else { return nil }
        defer { index += 4 }
        let digits = bytes[index..<index + 4]
        guard digits.allSatisfy({ Self.isHexDigit($0) }) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    private mutating func number() -> JSON? {
        let start = index
        while let byte = peek(), Self.isNumberByte(byte) { index += 1 }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        // Swift's initialisers would also take "+1" and "nan".
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || Self.isDigit(first) else {
            return nil
        }
        if let integer = Int64(text) { return .integer(integer) }
        return Double(text).map(JSON.number)
    }

    private mutating func word(_ word: StaticString, _ value: JSON) -> JSON? {
        let matches = word.withUTF8Buffer { bytes[index...].starts(with: $0) }
        guard matches else { return nil }
        index += word.utf8CodeUnitCount
        return value
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard nextSignificant() == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func nextSignificant() -> UInt8? {
        while let byte = peek(), Self.isSpace(byte) { index += 1 }
        return peek()
    }

    private func peek() -> UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == 0x2B || byte == 0x2D || byte == 0x2E || byte | 0x20 == 0x65
    }
}
