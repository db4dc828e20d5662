/// Where a reader goes on in a ring of numbered entries, whose oldest make room for the newest: one rule for all
/// rings. They differ in what they keep, and what bounds it.
package struct RingCursor: Sendable {
    /// Reading goes on behind the entry with this number.
    package let number: UInt64
    /// Entries that were given up before the reader came to them.
    package let missed: UInt64

    /// - Parameters:
    ///   - number: Of the last entry that the reader has looked at. One beyond the latest comes from another run
    ///     of relayd: reading begins at the oldest entry then.
    ///   - evicted: Number of the latest entry that was given up; 0 before the first.
    ///   - latest: Number of the latest entry; 0 before the first.
    package init(after number: UInt64, evicted: UInt64, latest: UInt64) {
        let seen = number > latest ? 0 : number
        self.number = max(seen, evicted)
        missed = self.number - seen
    }
}
