/// Messages per second, averaged over the last ten whole seconds. A value on the caller's clock; the rate
/// falls to zero by itself when no messages come.
package struct MessageRate: Hashable, Sendable {
    /// Seconds that are averaged over.
    package static let seconds: Int64 = 10

    /// Counts of the current second and those before, indexed by the second modulo their number.
    private var counts = [UInt32](repeating: 0, count: Int(Self.seconds) + 1)
    private var first: Int64?
    private var latest: Int64 = 0

    package init() {}

    /// - Parameter second: By a monotonic clock.
    package mutating func count(at second: Int64) {
        if first == nil { (first, latest) = (second, second) }
        forget(until: second)
        let place = Self.place(of: latest)
        counts[place] &+= 1
    }

    package func perSecond(at second: Int64) -> Double {
        guard let first else { return 0 }
        var rate = self
        rate.forget(until: second)
        let now = rate.latest
        let age = now - first
        // There is no whole second yet.
        guard age > 0 else { return Double(rate.counts[Self.place(of: now)]) }
        let span = min(age, Self.seconds)
        let sum = (1...span).reduce(0.0) { $0 + Double(rate.counts[Self.place(of: now - $1)]) }
        return sum / Double(span)
    }

    private mutating func forget(until second: Int64) {
        guard second > latest else { return }
        for forgotten in max(latest + 1, second - Self.seconds)...second {
            counts[Self.place(of: forgotten)] = 0
        }
        latest = second
    }

    private static func place(of second: Int64) -> Int {
        let count = Self.seconds + 1
        return Int((second % count + count) % count)
    }
}

/// The latest value in each of the last seconds, for a sparkline.
package struct ValueHistory: Hashable, Sendable {
    /// Seconds kept.
    package static let seconds = 60

    /// Oldest first. A second without a new value repeats the one before.
    package private(set) var values: [Double] = []
    private var latest: Int64 = 0

    package init() {}

    /// - Parameter second: By a monotonic clock.
    package mutating func add(_ value: Double, at second: Int64) {
        guard let last = values.last else {
            (values, latest) = ([value], second)
            return
        }
        guard second > latest else {
            values[values.count - 1] = value
            return
        }
        let silent = min(second - latest - 1, Int64(Self.seconds))
        values.append(contentsOf: repeatElement(last, count: Int(silent)))
        values.append(value)
        values.removeFirst(max(0, values.count - Self.seconds))
        latest = second
    }
}
