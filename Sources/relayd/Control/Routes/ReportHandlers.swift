import ControlAPI
import NIOCore
import NIOHTTP1
import RelayCore
import SDLProtocol
import SDLTraffic

/// Answers what is asked about relayd as a whole: apps, counts, configuration, metrics.
package struct ReportHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    var statistics = TrafficStatistics()
    var advisor: TrafficAdvisor?
    var ring: MessageRing?
    var config: @Sendable () -> ConfigReport = { ConfigReport(options: []) }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.apps) { _, _ in
            try ControlResponse.json(AppList(try await status()))
        }
        routes.get(Routes.config) { _, _ in try ControlResponse.json(config()) }
        routes.get(Routes.stats) { _, _ in
            try ControlResponse.json(
                StatsReport(statistics.current, since: statistics.since, at: .now()))
        }
        routes.get(Routes.metrics) { _, _ in
            ControlResponse(
                .ok, .ofMoment(PrometheusText.contentType),
                body: .whole(ByteBuffer(string: try await metrics())))
        }
    }

    private func metrics() async throws -> String {
        Metrics(
            status: try await status(), statistics: statistics.current,
            advice: advisor?.counts() ?? [:], ring: ring?.usage ?? (0, 0), usage: .current
        ).text
    }
}

extension StatsReport {
    init(_ statistics: TrafficStatistics.Counts, since: WallTime, at: WallTime) {
        let lanes = statistics.lanes.sorted { $0.key.sortKey < $1.key.sortKey }
        let functions = statistics.functions.map { FunctionReport($0.key, $0.value) }
        self.init(
            since: Timestamp(since), at: Timestamp(at),
            traffic: lanes.map { lane, amount in
                LaneReport(
                    app: lane.app, service: lane.service.name, from: lane.direction.sender,
                    frames: Int(clamping: amount.frames), bytes: Int(clamping: amount.bytes))
            },
            functions: functions.sorted { ($1.total, $0.function) < ($0.total, $1.function) },
            dropped: statistics.dropped.mapValues { Int(clamping: $0) },
            unanswered: Int(clamping: statistics.unanswered),
            unseen: Int(clamping: statistics.unseenFrames))
    }
}

extension FunctionReport {
    fileprivate var total: Int { requests + notifications }

    fileprivate init(_ name: String, _ counts: TrafficStatistics.Counts.Function) {
        self.init(
            function: name, requests: Int(clamping: counts.requests),
            responses: Int(clamping: counts.responses),
            notifications: Int(clamping: counts.notifications),
            results: counts.results.mapValues { Int(clamping: $0) })
        guard counts.latency.count > 0 else { return }
        meanMilliseconds = Self.milliseconds(
            Double(counts.latency.sum) / Double(counts.latency.count))
        maximumMilliseconds = Self.milliseconds(Double(counts.latency.maximum))
    }

    /// With microseconds.
    private static func milliseconds(_ nanoseconds: Double) -> Double {
        (nanoseconds / 1000).rounded() / 1000
    }
}
