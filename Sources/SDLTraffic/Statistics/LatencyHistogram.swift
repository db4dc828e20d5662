/// The latency of answers: a cumulative histogram with fixed bounds, as in Prometheus. Kept by
/// `TrafficStatistics`, shown by the metrics.
package struct LatencyHistogram: Hashable, Sendable {
    /// Upper bounds in nanoseconds: 1 ms to 10 s. Recorded head units answer within 0.5 to 400 ms;
    /// libraries give up after 10 s.
    package static let bounds: [Int64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000,
    ].map { $0 * 1_000_000 }

    /// One count per bound, then one for longer times; not yet cumulative.
    package private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    package private(set) var count: UInt64 = 0
    /// Nanoseconds.
    package private(set) var sum: Int64 = 0
    package private(set) var maximum: Int64 = 0

    package init() {}

    package mutating func add(_ nanoseconds: Int64) {
        let index = Self.bounds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count
        counts[index] &+= 1
        count &+= 1
        sum &+= nanoseconds
        maximum = max(maximum, nanoseconds)
    }
}
