extension UnsignedInteger where Self: FixedWidthInteger {
    /// All hex digits of the type, lower case, zeroes in front included: "0f" for a byte.
    package var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
    }
}
