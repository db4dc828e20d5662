/// Messages in a second, over the last ten whole seconds. A value on somebody else's clock; it falls to
/// zero by itself when nothing comes.
package struct MessageRate: Hashable, Sendable {
    /// Seconds that are averaged.
    package static let seconds: Int64 = 10

    /// Of the current second and those before; the place of a second is its remainder.
    private var counts = [UInt32](repeating: 0, count: Int(Self.seconds) + 1)
    private var first: Int64?
    private var latest: Int64 = 0

    package init() {}

    /// - Parameter second: By a clock that only goes forward.
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
        // Nothing is known of whole seconds yet.
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

/// The latest value of each of the last seconds, for a sparkline.
package struct ValueHistory: Hashable, Sendable {
    /// Seconds that are kept.
    package static let seconds = 60

    /// Oldest first. A second in which nothing came has the value of the one before.
    package private(set) var values: [Double] = []
    private var latest: Int64 = 0

    package init() {}

    /// - Parameter second: By a clock that only goes forward.
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
