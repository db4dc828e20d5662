import ControlAPI

/// Rates, computed from the differences between the reports of the last seconds.
struct TopRates: Sendable {
    /// Calls of one function by one app.
    struct Call: Sendable, Equatable {
        var app: String
        var function: String
        /// Requests and notifications per second; nil while there is only one report.
        var perSecond: Double?
        /// Requests and notifications since relayd started.
        var count: Int
        /// Failed answers since relayd started, and whether one came in the last seconds.
        var failed: Int
        var isFailing: Bool
    }

    /// RPCs per second, by sender.
    struct Messages: Sendable, Equatable {
        var fromApp: Double
        var toApp: Double
    }

    private struct Bytes {
        var at: Timestamp
        var apps: [Int: Int]
        var fromHeadUnit: Int
        var toHeadUnit: Int
    }

    private var stats: [StatsReport] = []
    private var bytes: [Bytes] = []

    /// Averaging time: long enough to be steady, short enough to show changes quickly.
    private static let milliseconds: Int64 = 5000

    mutating func add(_ report: StatsReport) {
        if let last = stats.last, last.since != report.since || last.at >= report.at { stats = [] }
        stats.append(report)
        stats.removeAll { Self.isTooOld($0.at, report.at) }
    }

    mutating func add(_ status: StatusSnapshot, at time: Timestamp) {
        if let last = bytes.last, last.at >= time { bytes = [] }
        let apps = status.apps.map { ($0.id, Units.sum([$0.bytesFromApp, $0.bytesToApp])) }
        bytes.append(
            Bytes(
                at: time, apps: Dictionary(apps) { first, _ in first },
                fromHeadUnit: status.accessory.bytesIn, toHeadUnit: status.accessory.bytesOut))
        bytes.removeAll { Self.isTooOld($0.at, time) }
    }

    private static func isTooOld(_ time: Timestamp, _ now: Timestamp) -> Bool {
        // Reports do not arrive exactly on time.
        now.millisecondsSince1970 - time.millisecondsSince1970 > milliseconds + 500
    }

    // MARK: Bytes per second

    /// In both directions; nil while unknown.
    func bytes(ofApp id: Int) -> Double? {
        rate { $0.apps[id] }
    }

    var bytesFromHeadUnit: Double? { rate { $0.fromHeadUnit } }
    var bytesToHeadUnit: Double? { rate { $0.toHeadUnit } }

    /// The rate since the oldest report that has this number.
    private func rate(_ number: (Bytes) -> Int?) -> Double? {
        guard let last = bytes.last, let new = number(last),
            let first = bytes.first(where: { number($0) != nil }), let old = number(first)
        else { return nil }
        return Self.perSecond(Double(new) - Double(old), first.at, last.at)
    }

    private static func perSecond(
        _ difference: Double, _ start: Timestamp, _ end: Timestamp
    ) -> Double? {
        let milliseconds = Double(end.millisecondsSince1970 - start.millisecondsSince1970)
        return milliseconds > 0 ? max(0, difference) * 1000 / milliseconds : nil
    }

    // MARK: RPCs per second

    private struct Key: Hashable {
        let app: String
        let function: String
    }

    /// For all apps of this name.
    func messages(ofApp name: String) -> Messages? {
        guard let last = stats.last, let first = stats.first else { return nil }
        func counts(_ report: StatsReport) -> (from: Double, to: Double) {
            (report.apps ?? []).filter { $0.app == name }.reduce(into: (0, 0)) { sum, call in
                sum.0 += Double(call.requests)
                sum.1 += Double(call.responses) + Double(call.notifications)
            }
        }
        let (new, old) = (counts(last), counts(first))
        guard let from = Self.perSecond(new.from - old.from, first.at, last.at),
            let to = Self.perSecond(new.to - old.to, first.at, last.at)
        else { return nil }
        return Messages(fromApp: from, toApp: to)
    }

    /// Fastest first, then by count.
    var calls: [Call] {
        guard let last = stats.last, let first = stats.first else { return [] }
        let old = Dictionary(
            (first.apps ?? []).map { (Key(app: $0.app, function: $0.function), $0) }
        ) { first, _ in first }
        let calls = (last.apps ?? []).map { call in
            let before = old[Key(app: call.app, function: call.function)]
            let count = Units.sum([call.requests, call.notifications])
            let earlier = before.map { Units.sum([$0.requests, $0.notifications]) } ?? 0
            return Call(
                app: call.app, function: call.function,
                perSecond: Self.perSecond(Double(count) - Double(earlier), first.at, last.at),
                count: count, failed: call.failed,
                isFailing: stats.count > 1 && call.failed > before?.failed ?? 0)
        }
        return calls.sorted { left, right in
            let (fast, slow) = (left.perSecond ?? 0, right.perSecond ?? 0)
            if fast != slow { return fast > slow }
            if left.count != right.count { return left.count > right.count }
            return (left.function, left.app) < (right.function, right.app)
        }
    }
}

/// Durations of the answers seen in the last minute.
struct TopLatencies: Sendable {
    /// In milliseconds.
    struct Quantiles: Sendable, Equatable {
        var p50: Double
        var p95: Double
    }

    private struct Key: Hashable {
        let app: String
        let function: String
    }
    private struct Sample {
        var at: Timestamp
        var milliseconds: Double
    }
    private struct Samples {
        var waitsForPeople = false
        /// Newest last.
        var all: [Sample] = []

        mutating func add(_ sample: Sample, keeping maximum: Int) {
            all.append(sample)
            // Done rarely, because removing moves all later samples.
            if all.count >= 2 * maximum { all.removeFirst(all.count - maximum) }
        }
    }
    private var samples: [Key: Samples] = [:]
    /// Number of the latest message: a new stream may begin with messages seen before.
    private var latest = 0

    private static let milliseconds: Int64 = 60_000
    /// Per app and function; more samples would not improve a quantile.
    private static let maximumSamples = 400
    /// A limit, because names come from peers.
    private static let maximumKeys = 400

    mutating func add(_ message: TailMessage) {
        guard message.number > latest else { return }
        latest = message.number
        guard message.kind == .response, let latency = message.latency, latency >= 0,
            let time = message.time
        else { return }
        let key = Key(app: message.appName ?? "", function: message.name)
        guard samples[key] != nil || samples.count < Self.maximumKeys else { return }
        samples[key, default: Samples(waitsForPeople: message.waitsForPeople)].add(
            Sample(at: time, milliseconds: latency), keeping: Self.maximumSamples)
    }

    /// - Parameter time: The time by relayd's clock, as in messages.
    mutating func forget(before time: Timestamp) {
        let start = time.millisecondsSince1970 - Self.milliseconds
        for (key, samples) in samples {
            let kept = samples.all.filter { $0.at.millisecondsSince1970 >= start }
            self.samples[key] =
                kept.isEmpty
                ? nil : Samples(waitsForPeople: samples.waitsForPeople, all: kept)
        }
    }

    /// Names as `TailMessage` has them.
    func quantiles(app: String, function: String) -> Quantiles? {
        Self.quantiles((samples[Key(app: app, function: function)]?.all ?? []).map(\.milliseconds))
    }

    /// For all answers of the app that did not wait for a person.
    func quantiles(app: String) -> Quantiles? {
        Self.quantiles(
            samples.filter { $0.key.app == app && !$0.value.waitsForPeople }
                .flatMap { $0.value.all.map(\.milliseconds) })
    }

    private static func quantiles(_ times: [Double]) -> Quantiles? {
        guard !times.isEmpty else { return nil }
        let sorted = times.sorted()
        func rank(_ percent: Int) -> Double {
            sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
        }
        return Quantiles(p50: rank(50), p95: rank(95))
    }
}
