/// The latency of answers as quantiles: every time is counted in one of some hundred ranges, so that memory
/// does not grow with the number of answers. Kept by `TrafficStatistics` for each RPC.
///
/// Ranges are log-linear: 16 of equal width from each power of two to the next. A quantile is the middle of
/// the range that contains the time in question, so it is off by at most 1/32 (3.1 %) of that time, or by
/// half a microsecond where that is more. Times of 18 minutes (2^40 ns) and more share the last range and are
/// reported as the longest one seen.
package struct LatencyQuantiles: Hashable, Sendable {
    /// Nanoseconds, as a power of two, below which times are not distinguished: about a microsecond.
    static let unitBits = 10
    /// Ranges from one power of two to the next, as a power of two.
    static let stepBits = 4
    /// Nanoseconds, as a power of two, from which times fall into the last range.
    static let endBits = 40
    /// The number of ranges, the last one without an end.
    static let maximumRanges = ((endBits - unitBits - stepBits + 1) << stepBits) + 1

    /// Counts of the ranges from `firstRange` on; those outside are empty.
    private var counts: [UInt64] = []
    private var firstRange = 0
    package private(set) var count: UInt64 = 0
    /// Nanoseconds.
    package private(set) var sum: Int64 = 0
    package private(set) var maximum: Int64 = 0
    private var minimum: Int64 = .max

    package init() {}

    /// - Parameter nanoseconds: From request to response; a negative value counts as 0.
    package mutating func add(_ nanoseconds: Int64) {
        let time = max(0, nanoseconds)
        let range = Self.range(of: time)
        makeRoom(for: range)
        counts[range - firstRange] &+= 1
        count &+= 1
        sum &+= time
        maximum = max(maximum, time)
        minimum = min(minimum, time)
    }

    /// The time within which this percentage of the answers came, in nanoseconds; nil without answers.
    ///
    /// - Parameter percent: 0 to 100; uses the nearest rank, so that the result is always a time that was
    ///   seen, within the error stated above.
    package func quantile(percent: UInt64) -> Int64? {
        guard count > 0 else { return nil }
        let (hundreds, rest) = count.quotientAndRemainder(dividingBy: 100)
        let share = min(percent, 100)
        let rank = max(1, hundreds * share + (rest * share + 99) / 100)
        var seen: UInt64 = 0
        for (index, number) in counts.enumerated() {
            seen &+= number
            if seen >= rank {
                return min(max(Self.middle(of: firstRange + index), minimum), maximum)
            }
        }
        return maximum
    }

    /// Ranges for which there is memory.
    var rangesKept: Int { counts.count }

    // MARK: Ranges

    private static func range(of nanoseconds: Int64) -> Int {
        guard nanoseconds < 1 << endBits else { return maximumRanges - 1 }
        let units = nanoseconds >> unitBits
        let bits = Int64.bitWidth - units.leadingZeroBitCount
        let shift = max(0, bits - stepBits - 1)
        return (shift << stepBits) + Int(units >> shift)
    }

    /// In nanoseconds; for the last range, which has no middle, more than any time.
    private static func middle(of range: Int) -> Int64 {
        guard range < maximumRanges - 1 else { return .max }
        let shift = max(0, (range >> stepBits) - 1)
        let units = Int64(range - (shift << stepBits)) << shift
        return (units << unitBits) + (1 << (unitBits + shift - 1))
    }

    /// Grows by whole octaves, so that answers with similar times share the memory.
    private mutating func makeRoom(for range: Int) {
        let step = 1 << Self.stepBits
        let first = range / step * step
        let end = min(first + step, Self.maximumRanges)
        guard !counts.isEmpty else {
            (firstRange, counts) = (first, [UInt64](repeating: 0, count: end - first))
            return
        }
        if first < firstRange {
            counts.insert(contentsOf: repeatElement(0, count: firstRange - first), at: 0)
            firstRange = first
        }
        let kept = firstRange + counts.count
        if end > kept { counts.append(contentsOf: repeatElement(0, count: end - kept)) }
    }
}
