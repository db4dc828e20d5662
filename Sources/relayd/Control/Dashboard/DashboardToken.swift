/// What a request over TCP has to bring to change something. Made once per start of relayd, told
/// only over the Unix socket, kept nowhere.
package struct DashboardToken: Sendable {
    /// 256 bits in hexadecimal: nobody guesses them, so attempts need not be counted.
    package let text: String

    package init() {
        var generator = SystemRandomNumberGenerator()
        text = (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Whether an `Authorization` header brings this token. Takes as long for any wrong one of the
    /// right length, so that it cannot be found digit by digit.
    package func isBrought(by authorization: String?) -> Bool {
        // The scheme's case does not matter (RFC 9110, "11.1").
        guard let authorization, authorization.prefix(7).lowercased() == "bearer " else {
            return false
        }
        let brought = Array(authorization.utf8.dropFirst(7))
        let own = Array(text.utf8)
        guard brought.count == own.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(brought, own) { difference |= one ^ other }
        return difference == 0
    }
}
