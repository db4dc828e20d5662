package import ControlAPI
import RelayCore
import SDLProtocol
import SDLTraffic
package import Traces

/// Counts the contents of a trace, as relayd counts live traffic.
package struct TraceCount {
    private var decoding = TraceDecoding(isValidating: false)
    private var statistics = TrafficStatistics(since: WallTime(nanoseconds: 0))
    private var names: [AppID: String] = [:]
    private var streams: [Key: Stream] = [:]
    private var decoded: [TrafficEntry] = []
    /// Frames of streams beyond `maximumStreams`.
    private var leftOutStreams = 0
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
        /// Nanoseconds while the stream was running.
        var running: Int64 = 0
        var gaps = 0
        var longest: Int64 = 0
        /// Messages and bytes that came after a pause, not at the end of a measured interval.
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
            // The time that this frame took is not measured.
            if begins { firsts += 1 }
            firstBytes += tapped.frame.payloadBytes
        }
    }

    /// Pauses from this many nanoseconds on are gaps.
    private static let gap: Int64 = 1_000_000_000
    /// Distinct streams and names, as in the statistics.
    private static let maximumStreams = 256
    private static let maximumNames = 4096
    private static let batch = 256

    package init() {}

    package mutating func receive(_ entry: TraceEntry) {
        from = from ?? entry.time
        to = max(to ?? entry.time, entry.time)
        if case .frame(let tapped, _, _) = entry.content, tapped.frame.service.isStream,
            tapped.frame.type != .control, tapped.fate == .forwarded
        {
            count(tapped)
        }
        decoding.receive(entry, into: &decoded)
        learnName(entry)
        if decoded.count >= Self.batch { flush() }
    }

    /// Learns the name of the app that the latest message concerns.
    private mutating func learnName(_ entry: TraceEntry) {
        if case .record(.appLeft(let app, _)) = entry.content {
            names[app] = nil
        } else if let last = decoded.last, let app = last.app, let name = last.appName,
            names[app] != nil || names.count < Self.maximumNames
        {
            names[app] = name
        }
    }

    private mutating func flush() {
        statistics.consume(decoded)
        decoded = []
    }

    package mutating func finish() -> TraceStatsReport {
        decoding.finish(into: &decoded)
        flush()
        let zero = WallTime(nanoseconds: 0)
        return TraceStatsReport(
            counts: StatsReport(
                statistics.current, since: from ?? zero, at: to ?? zero),
            streams: streams.sorted {
                ($0.key.app, $0.key.service.rawValue, $0.key.direction.sender)
                    < ($1.key.app, $1.key.service.rawValue, $1.key.direction.sender)
            }.map { Self.report($0, $1) }, leftOut: leftOutStreams > 0 ? leftOutStreams : nil)
    }

    private mutating func count(_ tapped: TappedFrame) {
        let name = tapped.app.flatMap { names[$0] } ?? "unregistered"
        let key = Key(app: name, service: tapped.frame.service, direction: tapped.direction)
        guard streams[key] != nil || streams.count < Self.maximumStreams else {
            leftOutStreams += 1
            return
        }
        streams[key, default: Stream()].count(tapped, gap: Self.gap)
    }

    private static func report(_ key: Key, _ stream: Stream) -> TraceStatsReport.Stream {
        let seconds = Double(stream.running) / 1e9
        let messages = stream.messages - stream.firsts
        var report = TraceStatsReport.Stream(
            app: key.app, service: key.service.name, from: key.direction.sender)
        (report.frames, report.bytes) = (stream.frames, stream.bytes)
        (report.messages, report.gaps) = (stream.messages, stream.gaps)
        if stream.running > 0 {
            report.messagesPerSecond = rounded(Double(messages) / seconds)
            report.bitsPerSecond = rounded(Double(stream.bytes - stream.firstBytes) * 8 / seconds)
        }
        if stream.frames > 1 {
            report.longestPauseMilliseconds = rounded(Double(stream.longest) / 1e6)
        }
        return report
    }

    private static func rounded(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }
}
