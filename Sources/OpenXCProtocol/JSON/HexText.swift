/// Bytes as JSON writes them: pairs of hexadecimal digits, with or without a leading `0x`.
package enum HexText {
    /// Nil for text that is not such digits, or has more than `maximum` bytes.
    package static func bytes(_ text: String, maximum: Int) -> [UInt8]? {
        let digits = Array(text.utf8)
        return try? bytes(digits.span, maximum: maximum)
    }

    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func bytes(_ digits: Span<UInt8>, maximum: Int) throws(MessageProblem) -> [UInt8] {
        let start =
            digits.count >= 2 && digits[0] == UInt8(ascii: "0")
                && digits[1] | 0x20 == UInt8(ascii: "x") ? 2 : 0
        let count = digits.count - start
        guard count % 2 == 0 else { throw .notHex }
        guard count / 2 <= maximum else { throw .tooMuchData }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count / 2)
        for at in stride(from: start, to: digits.count, by: 2) {
            guard let high = value(of: digits[at]), let low = value(of: digits[at + 1]) else {
                throw .notHex
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// As firmware writes it: `0x`, and lower case.
    static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        text.append(contentsOf: "0x".utf8)
        for byte in bytes { appendDigits(of: byte, to: &text) }
    }

    /// Both digits, lower case. Not SDLProtocol's `hexDigits`: this module knows nothing of SDL.
    static func appendDigits(of byte: UInt8, to text: inout [UInt8]) {
        text.append(digit(byte >> 4))
        text.append(digit(byte & 0xF))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
