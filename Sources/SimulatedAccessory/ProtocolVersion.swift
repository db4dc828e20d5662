/// A protocol or RPC version of three numbers, as control payloads spell it: "5.4.0". Used by
/// negotiation and options.
package struct ProtocolVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var major: Int
    package var minor: Int
    package var patch: Int

    package init(_ major: Int, _ minor: Int = 0, _ patch: Int = 0) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Reads "5", "5.4" or "5.4.1"; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt8($0) }.map(Int.init)
        guard (1...3).contains(parts.count), numbers.count == parts.count else { return nil }
        self.init(
            numbers[0], numbers.count > 1 ? numbers[1] : 0, numbers.count > 2 ? numbers[2] : 0)
    }

    package var description: String { "\(major).\(minor).\(patch)" }

    package static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }
}
