import ControlAPI
import DecodedTraces
import NIOCore
import NIOHTTP1
import RelayCore
import SDLProtocol
import SDLTraffic

/// Answers requests about relayd as a whole: apps, counts, configuration, metrics.
package struct ReportHandlers: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    var statistics = TrafficStatistics()
    /// Nil with a head unit.
    var vehicle: VehicleStatistics?
    var advisor: TrafficAdvisor?
    var ring: MessageRing?
    var config: @Sendable () -> ConfigReport = { ConfigReport(options: []) }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.apps) { _, _ in
            try ControlResponse.json(AppList(try await status()))
        }
        routes.get(Routes.config) { _, _ in try ControlResponse.json(config()) }
        routes.get(Routes.stats) { _, _ in
            var report = StatsReport(statistics.current, since: statistics.since, at: .now())
            if let counts = vehicle?.current {
                report.vehicle = counts.lanes
                (report.unanswered, report.unseen) = (counts.unanswered, counts.unseen)
            }
            return try ControlResponse.json(report)
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
