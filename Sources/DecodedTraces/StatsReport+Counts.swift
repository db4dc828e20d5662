// Used by relayd for live traffic, and by `TraceCount` for a trace.

package import ControlAPI
package import RelayCore
import SDLProtocol
package import SDLTraffic

extension StatsReport {
    /// The counts between two moments.
    package init(_ statistics: TrafficStatistics.Counts, since: WallTime, at: WallTime) {
        let lanes = statistics.lanes.sorted {
            ($0.key.app, $0.key.service.rawValue, $0.key.direction.sender)
                < ($1.key.app, $1.key.service.rawValue, $1.key.direction.sender)
        }
        let functions = statistics.functions.map { FunctionReport($0.key, $0.value) }
        let apps = statistics.functions.flatMap { name, function in
            function.apps.map {
                AppFunctionReport($0.key, name, $0.value, function.waitsForPeople)
            }
        }
        self.init(
            since: Timestamp(since), at: Timestamp(at),
            traffic: lanes.map { lane, amount in
                LaneReport(
                    app: lane.app, service: lane.service.name, from: lane.direction.sender,
                    frames: Int(clamping: amount.frames), bytes: Int(clamping: amount.bytes))
            },
            functions: functions.sorted { ($1.total, $0.function) < ($0.total, $1.function) },
            apps: apps.sorted {
                ($1.total, $0.app, $0.function) < ($0.total, $1.app, $1.function)
            },
            dropped: statistics.dropped.mapValues { Int(clamping: $0) },
            unanswered: Int(clamping: statistics.unanswered),
            unseen: Int(clamping: statistics.unseenFrames))
    }
}

/// The latencies of answers in a report.
private protocol LatencyReport {
    var meanMilliseconds: Double? { get set }
    var maximumMilliseconds: Double? { get set }
    var p50Milliseconds: Double? { get set }
    var p95Milliseconds: Double? { get set }
    var p99Milliseconds: Double? { get set }
}

extension LatencyReport {
    fileprivate mutating func tell(_ latency: LatencyQuantiles) {
        guard latency.count > 0 else { return }
        meanMilliseconds = Self.milliseconds(Double(latency.sum) / Double(latency.count))
        maximumMilliseconds = Self.milliseconds(Double(latency.maximum))
        func quantile(_ percent: UInt64) -> Double? {
            latency.quantile(percent: percent).map { Self.milliseconds(Double($0)) }
        }
        (p50Milliseconds, p95Milliseconds) = (quantile(50), quantile(95))
        p99Milliseconds = quantile(99)
    }

    /// With microsecond precision.
    private static func milliseconds(_ nanoseconds: Double) -> Double {
        (nanoseconds / 1000).rounded() / 1000
    }
}

extension FunctionReport: LatencyReport {
    fileprivate var total: Int { requests &+ notifications }

    fileprivate init(_ name: String, _ counts: TrafficStatistics.Counts.Function) {
        self.init(
            function: name, requests: Int(clamping: counts.usage.requests),
            responses: Int(clamping: counts.usage.responses),
            notifications: Int(clamping: counts.usage.notifications),
            results: counts.results.mapValues { Int(clamping: $0) },
            waitsForPeople: counts.waitsForPeople ? true : nil)
        tell(counts.usage.latency)
    }
}

extension AppFunctionReport: LatencyReport {
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
        tell(usage.latency)
    }
}
