/// Numbers as JSON writes them.
enum JSONNumber {
    /// The value of a text that is a number; nil when no double can hold it.
    static func value(_ digits: Span<UInt8>) -> Double? {
        if let exact = short(digits) { return exact }
        let text = digits.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    private static let powersOfTen: [Double] = (0...22).map { exponent in
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }

    /// Digits that make a whole number below 2^53, shifted by a power of ten that is exact too: one
    /// division gives the nearest double. Nearly all numbers are of this kind.
    private static func short(_ digits: Span<UInt8>) -> Double? {
        var at = 0
        let isNegative = digits.count > 0 && digits[0] == UInt8(ascii: "-")
        if isNegative { at = 1 }
        // So that the whole number cannot overflow 64 bits.
        guard digits.count <= 18 else { return nil }
        var whole: UInt64 = 0
        var decimals = 0
        var isFraction = false
        while at < digits.count {
            let byte = digits[at]
            if byte &- UInt8(ascii: "0") <= 9 {
                whole = whole &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
                if isFraction { decimals += 1 }
            } else if byte == UInt8(ascii: ".") {
                isFraction = true
            } else {
                return nil
            }
            at += 1
        }
        guard whole <= 1 << 53 else { return nil }
        let value = decimals == 0 ? Double(whole) : Double(whole) / powersOfTen[decimals]
        return isNegative ? -value : value
    }

    /// Appends whole numbers without a fraction, others with as many digits as it takes to read them back
    /// exactly.
    ///
    /// - Parameter value: Must be finite.
    static func append(_ value: Double, to text: inout [UInt8]) {
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 {
            append(whole, to: &text)
        } else {
            text.append(contentsOf: value.description.utf8)
        }
    }

    static func append(_ value: some FixedWidthInteger, to text: inout [UInt8]) {
        text.append(contentsOf: String(value).utf8)
    }
}
