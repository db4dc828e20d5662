// The findings of benchmarks: numbers, one per round, and bounds they have to keep.

/// One quantity, measured in one or several rounds.
struct Measurement: Encodable {
    /// What was measured: "round trip, 64 B".
    var subject: String
    /// The contestant or variant: "relayd", "socat".
    var contestant: String
    /// The quantity: "p50".
    var quantity: String
    var unit: String
    /// The values, one per round.
    var rounds: [Double]

    var median: Double { rounds.median }

    private enum CodingKeys: String, CodingKey {
        case subject, contestant, quantity, unit, median, minimum, maximum, rounds
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(subject, forKey: .subject)
        try container.encode(contestant, forKey: .contestant)
        try container.encode(quantity, forKey: .quantity)
        try container.encode(unit, forKey: .unit)
        try container.encode(median, forKey: .median)
        try container.encode(rounds.min() ?? 0, forKey: .minimum)
        try container.encode(rounds.max() ?? 0, forKey: .maximum)
        try container.encode(rounds, forKey: .rounds)
    }
}

/// A promise about a number.
struct Bound: Encodable {
    enum Comparison: String, Encodable {
        case atMost = "at most"
        case atLeast = "at least"
    }

    /// What is promised: "p50 of a 64 B round trip, against socat".
    var promise: String
    var value: Double
    var comparison: Comparison
    var limit: Double
    var unit: String

    var isKept: Bool { comparison == .atMost ? value <= limit : value >= limit }

    private enum CodingKeys: String, CodingKey {
        case promise, value, comparison, limit, unit
        case isKept = "is_kept"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(promise, forKey: .promise)
        try container.encode(value, forKey: .value)
        try container.encode(comparison, forKey: .comparison)
        try container.encode(limit, forKey: .limit)
        try container.encode(unit, forKey: .unit)
        try container.encode(isKept, forKey: .isKept)
    }
}

/// Everything that one benchmark reports.
struct Findings: Encodable {
    /// How it was measured, where that matters for reading the numbers.
    var notes: [String] = []
    var measurements: [Measurement] = []
    var bounds: [Bound] = []

    mutating func add(
        _ subject: String, _ contestant: String, _ quantity: String, _ rounds: [Double],
        _ unit: String
    ) {
        measurements.append(
            Measurement(
                subject: subject, contestant: contestant, quantity: quantity, unit: unit,
                rounds: rounds))
    }

    mutating func bound(
        _ promise: String, _ value: Double, _ comparison: Bound.Comparison, _ limit: Double,
        _ unit: String
    ) {
        bounds.append(
            Bound(
                promise: promise, value: value, comparison: comparison, limit: limit, unit: unit))
    }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        guard let middle = sorted.dropFirst(sorted.count / 2).first else { return .nan }
        return sorted.count % 2 == 1 ? middle : (middle + sorted[sorted.count / 2 - 1]) / 2
    }

    /// The value that this share of all values does not exceed.
    func percentile(_ share: Double) -> Double {
        let sorted = sorted()
        guard let last = sorted.indices.last else { return .nan }
        return sorted[Swift.min(last, Int(share * Double(sorted.count)))]
    }

    /// The ratios round by round, ours to theirs: what the machine did at that time affects both.
    func ratios(to others: [Double]) -> [Double] {
        zip(self, others).map { $0 / $1 }
    }
}
