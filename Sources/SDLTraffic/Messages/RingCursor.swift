/// Where a reader continues in a ring of numbered entries: one rule for all rings, in which new entries
/// replace the oldest. The rings differ in contents and limits.
package struct RingCursor: Sendable {
    /// Reading continues after the entry with this number.
    package let number: UInt64
    /// Entries that were dropped before the reader reached them.
    package let missed: UInt64

    /// - Parameters:
    ///   - number: The number of the last entry that the reader has seen. One beyond the latest comes from
    ///     another run of relayd: then reading begins at the oldest entry.
    ///   - evicted: The number of the latest dropped entry; 0 before the first.
    ///   - latest: The number of the latest entry; 0 before the first.
    package init(after number: UInt64, evicted: UInt64, latest: UInt64) {
        let seen = number > latest ? 0 : number
        self.number = max(seen, evicted)
        missed = self.number - seen
    }
}
