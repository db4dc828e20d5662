extension BinaryInteger {
    /// Hex digits, lower case, padded with leading zeroes to `count`: "0f" for 15 with two.
    public func hexDigits(atLeast count: Int) -> String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}

extension UnsignedInteger where Self: FixedWidthInteger {
    /// All hex digits of the type, lower case, leading zeroes included: "0f" for a byte.
    public var hexDigits: String { hexDigits(atLeast: Self.bitWidth / 4) }
}
