import ControlAPI
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// What --json of `relayctl trace stats` prints: the report of `relayctl stats`, and streams.
struct TraceStatsReport: Encodable, Sendable {
    var counts: StatsReport
    var streams: [Stream]

    struct Stream: Encodable, Sendable, Equatable {
        /// As it registered.
        var app: String
        /// "audio" or "video".
        var service: String
        /// "app" or "accessory": who sent it.
        var from: String
        var frames: Int
        /// Payload bytes, also of what was not recorded.
        var bytes: Int
        /// Begun; pictures of video.
        var messages: Int
        /// While it ran; nil when everything came at once.
        var messagesPerSecond: Double?
        var bitsPerSecond: Double?
        /// Pauses of a second or more.
        var gaps: Int
        /// Between two frames.
        var longestPauseMilliseconds: Double?

        enum CodingKeys: String, CodingKey {
            case app, service, from, frames, bytes, messages
            case messagesPerSecond = "messages_per_s"
            case bitsPerSecond = "bits_per_s"
            case gaps
            case longestPauseMilliseconds = "longest_pause_ms"
        }
    }

    enum CodingKeys: String, CodingKey { case streams }

    func encode(to encoder: any Encoder) throws {
        try counts.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(streams, forKey: .streams)
    }

    func narrowed(toApps names: [String], functions: [String]) -> TraceStatsReport {
        guard !names.isEmpty || !functions.isEmpty else { return self }
        var narrowed = self
        narrowed.counts = counts.narrowed(toApps: names, functions: functions)
        narrowed.streams =
            functions.isEmpty
            ? streams.filter { stream in names.contains { Names.isPart($0, of: stream.app) } } : []
        return narrowed
    }
}

/// Counts what is in a trace, as relayd counts what passes.
struct TraceCount {
    private var decoding = TraceDecoding(isValidating: false)
    private var statistics = TrafficStatistics(since: WallTime(nanoseconds: 0))
    private var names: [AppID: String] = [:]
    private var streams: [Key: Stream] = [:]
    private var decoded: [TrafficEntry] = []
    private var from: WallTime?
    private var to: WallTime?

    private struct Key: Hashable {
        var app: String
        var service: ServiceType
        var direction: Direction
    }

    private struct Stream {
        var frames = 0
        var bytes = 0
        var messages = 0
        var last: WallTime?
        /// Nanoseconds while it ran.
        var running: Int64 = 0
        var gaps = 0
        var longest: Int64 = 0
        /// Messages and bytes that came behind a pause, not at the end of an interval that counts.
        var firsts = 0
        var firstBytes = 0

        mutating func count(_ tapped: TappedFrame, gap: Int64) {
            let begins = tapped.frame.type != .consecutive
            frames += 1
            bytes += tapped.frame.payloadBytes
            if begins { messages += 1 }
            let pause = last.map { max(0, tapped.time.nanoseconds - $0.nanoseconds) }
            last = tapped.time
            if let pause {
                longest = max(longest, pause)
                if pause < gap {
                    running += pause
                    return
                }
                gaps += 1
            }
            // Its own time is not measured.
            if begins { firsts += 1 }
            firstBytes += tapped.frame.payloadBytes
        }
    }

    /// Nanoseconds from which a pause is a gap.
    private static let gap: Int64 = 1_000_000_000
    /// Names told apart, as in the statistics.
    private static let maximumStreams = 256
    private static let maximumNames = 4096
    private static let batch = 256

    mutating func receive(_ entry: TraceEntry) {
        from = from ?? entry.time
        to = max(to ?? entry.time, entry.time)
        if case .frame(let tapped, _, _) = entry.content, tapped.frame.service.isStream,
            tapped.frame.type != .control, tapped.fate == .forwarded
        {
            count(tapped)
        }
        decoding.receive(entry, into: &decoded)
        if let last = decoded.last, let app = last.app, let name = last.appName,
            names.count < Self.maximumNames
        {
            names[app] = name
        }
        if decoded.count >= Self.batch { flush() }
    }

    private mutating func flush() {
        statistics.consume(decoded)
        decoded = []
    }

    mutating func finish() -> TraceStatsReport {
        decoding.finish(into: &decoded)
        flush()
        let zero = WallTime(nanoseconds: 0)
        return TraceStatsReport(
            counts: StatsReport(
                statistics.current, since: Timestamp(from ?? zero), at: Timestamp(to ?? zero)),
            streams: streams.sorted {
                ($0.key.app, $0.key.service.rawValue, $0.key.direction.sender)
                    < ($1.key.app, $1.key.service.rawValue, $1.key.direction.sender)
            }.map { Self.report($0, $1) })
    }

    private mutating func count(_ tapped: TappedFrame) {
        let name = tapped.app.flatMap { names[$0] } ?? "unregistered"
        let key = Key(app: name, service: tapped.frame.service, direction: tapped.direction)
        guard streams[key] != nil || streams.count < Self.maximumStreams else { return }
        streams[key, default: Stream()].count(tapped, gap: Self.gap)
    }

    private static func report(_ key: Key, _ stream: Stream) -> TraceStatsReport.Stream {
        let seconds = Double(stream.running) / 1e9
        let messages = stream.messages - stream.firsts
        let isMeasured = stream.running > 0
        return .init(
            app: key.app, service: key.service.name, from: key.direction.sender,
            frames: stream.frames, bytes: stream.bytes, messages: stream.messages,
            messagesPerSecond: isMeasured ? rounded(Double(messages) / seconds) : nil,
            bitsPerSecond: isMeasured
                ? rounded(Double(stream.bytes - stream.firstBytes) * 8 / seconds) : nil,
            gaps: stream.gaps,
            longestPauseMilliseconds: stream.frames > 1
                ? rounded(Double(stream.longest) / 1e6) : nil)
    }

    private static func rounded(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }
}

// MARK: - Reports

extension StatsReport {
    /// As relayd's own, of the same counts.
    init(_ counts: TrafficStatistics.Counts, since: Timestamp, at: Timestamp) {
        let lanes = counts.lanes.map { lane, amount in
            LaneReport(
                app: lane.app, service: lane.service.name, from: lane.direction.sender,
                frames: Int(clamping: amount.frames), bytes: Int(clamping: amount.bytes))
        }
        let functions = counts.functions.map { FunctionReport($0.key, $0.value) }
        let apps = counts.functions.flatMap { name, function in
            function.apps.map {
                AppFunctionReport($0.key, name, $0.value, function.waitsForPeople)
            }
        }
        self.init(
            since: since, at: at,
            traffic: lanes.sorted { ($0.app, $0.service, $0.from) < ($1.app, $1.service, $1.from) },
            functions: functions.sorted { ($1.total, $0.function) < ($0.total, $1.function) },
            apps: apps.sorted {
                ($1.total, $0.app, $0.function) < ($0.total, $1.app, $1.function)
            },
            dropped: counts.dropped.mapValues { Int(clamping: $0) },
            unanswered: Int(clamping: counts.unanswered),
            unseen: Int(clamping: counts.unseenFrames))
    }
}

extension FunctionReport {
    fileprivate var total: Int { requests &+ notifications }

    fileprivate init(_ name: String, _ counts: TrafficStatistics.Counts.Function) {
        let usage = counts.usage
        self.init(
            function: name, requests: Int(clamping: usage.requests),
            responses: Int(clamping: usage.responses),
            notifications: Int(clamping: usage.notifications),
            results: counts.results.mapValues { Int(clamping: $0) },
            waitsForPeople: counts.waitsForPeople ? true : nil)
        let times = Times(usage.latency)
        (meanMilliseconds, maximumMilliseconds) = (times.mean, times.maximum)
        (p50Milliseconds, p95Milliseconds, p99Milliseconds) = (times.p50, times.p95, times.p99)
    }
}

extension AppFunctionReport {
    fileprivate var total: Int { requests &+ notifications }

    fileprivate init(
        _ app: String, _ function: String, _ usage: TrafficStatistics.Counts.Usage,
        _ waitsForPeople: Bool
    ) {
        self.init(
            app: app, function: function, requests: Int(clamping: usage.requests),
            responses: Int(clamping: usage.responses),
            notifications: Int(clamping: usage.notifications),
            failed: Int(clamping: usage.failed), waitsForPeople: waitsForPeople ? true : nil)
        let times = Times(usage.latency)
        (meanMilliseconds, maximumMilliseconds) = (times.mean, times.maximum)
        (p50Milliseconds, p95Milliseconds, p99Milliseconds) = (times.p50, times.p95, times.p99)
    }
}

/// Milliseconds with microseconds; nil without answers.
private struct Times {
    var mean: Double?
    var maximum: Double?
    var p50: Double?
    var p95: Double?
    var p99: Double?

    init(_ latency: LatencyQuantiles) {
        guard latency.count > 0 else { return }
        func milliseconds(_ nanoseconds: Double) -> Double { (nanoseconds / 1000).rounded() / 1000 }
        mean = milliseconds(Double(latency.sum) / Double(latency.count))
        maximum = milliseconds(Double(latency.maximum))
        func quantile(_ percent: UInt64) -> Double? {
            latency.quantile(percent: percent).map { milliseconds(Double($0)) }
        }
        (p50, p95, p99) = (quantile(50), quantile(95), quantile(99))
    }
}
