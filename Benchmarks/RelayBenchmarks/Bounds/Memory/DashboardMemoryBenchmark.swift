// How much memory relayd holds while the dashboard is open.

import ControlAPI
import Foundation

/// Requests and their answers at a steady rate, while the page's stream is read and its requests are sent.
enum DashboardMemoryBenchmark: Benchmark {
    static let name = "dashboard-memory"
    static let summary = "resident memory with the dashboard open at 1000 messages/s"

    /// Slightly above the promised rate, so that it is reached.
    private static let requestsPerSecond = 520
    private static let promisedRate = 1000.0
    /// Long enough to fill the ring of 16 MiB with messages of 600 B and the data kept beside them.
    private static let seconds = 45.0
    private static let looksPerSecond = 10.0
    private static let variety = 4096

    static func run(_ setting: Setting) async throws -> Findings {
        let seconds = setting.isQuick ? 5 : seconds
        var findings = Findings(notes: [
            "600 B Show requests and their responses for \(Int(seconds)) s; decode and log on; the",
            "page's stream and what it asks each second come over TCP; most of \(Int(looksPerSecond)) looks a second",
        ])
        let lane = try Lane.relayd(setting, .init(hasDashboard: true))
        guard let relayd = lane.relayd else { throw BenchmarkError("a lane without relayd") }
        let page = try DashboardPage(
            port: relayd.dashboardPort(), apps: relayd.status().apps.map(\.id))
        let headUnit = AnsweringHeadUnit(
            lane.headUnit,
            answers: [
                lane.session: Traffic.wire([
                    Traffic.response(session: lane.session, bytes: EverydayTraffic.frameBytes)
                ])
            ])
        let reader = AnsweringHeadUnit(lane.app, answers: [:])
        let wire = EverydayTraffic.wire(.app, session: lane.session, count: variety)
        let frames = stride(from: 0, to: wire.count, by: EverydayTraffic.frameBytes).map {
            Array(wire[$0..<$0 + EverydayTraffic.frameBytes])
        }
        let app = lane.app
        let (start, before) = (Clock.now(), page.stream.lines)
        let flood = Flood(
            frames, bytesPerSecond: requestsPerSecond * EverydayTraffic.frameBytes
        ) { try app.write($0) }
        var (resident, anonymous) = (0.0, 0.0)
        while Clock.now() < start + seconds {
            usleep(UInt32(1e6 / looksPerSecond))
            let memory = try relayd.facts.memory()
            resident = max(resident, Double(memory.resident) / Double(1 << 20))
            anonymous = max(anonymous, Double(memory.anonymous) / Double(1 << 20))
        }
        let rate = Double(page.stream.lines - before) / (Clock.now() - start)
        flood.stop()
        headUnit.stop()
        reader.stop()
        page.close()

        findings.add("dashboard open", "relayd", "messages read", [rate], "/s")
        findings.add("dashboard open", "relayd", "questions", [Double(page.poller.answers)], "")
        findings.add("dashboard open", "relayd", "resident", [resident], "MiB")
        findings.add("dashboard open", "relayd", "anonymous", [anonymous], "MiB")
        findings.bound("messages the dashboard reads", rate, .atLeast, promisedRate, "/s")
        findings.bound("dashboard open at that rate: resident", resident, .atMost, 60, "MiB")
        return findings
    }
}
