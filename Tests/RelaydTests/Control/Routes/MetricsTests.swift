import ControlAPI
import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayd

@Suite struct MetricsTests {
    /// The answer of /metrics after a story with two apps, plus an app with a difficult name.
    private static func page() async throws -> String {
        var feed = TrafficFeed()
        feed.tellStory()
        (feed.app, feed.session) = (AppID(rawValue: 3), 3)
        feed.request(.registerAppInterface, 1, #"{"appName":"Quote\" Back\\ é","appID":"q"}"#)
        feed.receive(
            .frames([
                TappedFrame(
                    frame: .rpc(session: 9), direction: .fromAccessory, app: nil, time: feed.time,
                    fate: .dropped(.noSuchSession(9)))
            ]))
        let statistics = TrafficStatistics()
        statistics.consume(feed.entries)
        let advisor = TrafficAdvisor(facts: SessionFacts())
        advisor.consume(feed.entries)
        let known = ControlTestServer.snapshot
        let status = StatusSnapshot(
            relayd: known.relayd, accessory: known.accessory, link: known.link,
            server: known.server, apps: known.apps,
            limitsHit: [LimitHit(name: "apps.maximum", limit: 1, count: 3, lastAt: .now)])
        let reports = ReportHandlers(
            status: { status }, statistics: statistics, advisor: advisor, ring: feed.ring)
        var body = ""
        try await ControlTestServer.with(reports: reports) { test in
            let answer = try await test.send("GET", "/metrics")
            #expect(answer.status == 200)
            body = answer.body
        }
        return body
    }

    @Test("every family has help and type; names follow the conventions; no series comes twice")
    func format() async throws {
        let page = try await Self.page()
        var kinds: [String: String] = [:]
        var helped: Set<String> = []
        var series: Set<String> = []
        for line in page.split(separator: "\n") {
            if let help = line.wholeMatch(of: #/# HELP ([a-z_]+) .+/#) {
                #expect(helped.insert(String(help.1)).inserted, "\(help.1) twice")
                continue
            }
            if let type = line.wholeMatch(of: #/# TYPE ([a-z_]+) (counter|gauge|histogram)/#) {
                #expect(helped.contains(String(type.1)))
                kinds[String(type.1)] = String(type.2)
                continue
            }
            let label = #/[a-z_]+="(?:[^"\\]|\\.)*"/#
            let sample = try #require(
                line.firstMatch(of: #/^([a-z_]+)(\{.*\})? ([0-9.e+-]+)$/#), "no sample: \(line)")
            let labels = sample.2.map { String($0.dropFirst().dropLast()) } ?? ""
            #expect(labels.replacing(label, with: "").allSatisfy { $0 == "," }, "\(line)")
            var name = String(sample.1)
            for suffix in ["_bucket", "_sum", "_count"] where kinds[name] == nil {
                if name.hasSuffix(suffix) { name = String(name.dropLast(suffix.count)) }
            }
            let kind = try #require(kinds[name], "no TYPE before \(line)")
            #expect(name.hasSuffix("_total") == (kind == "counter"), "\(name)")
            #expect(name.hasPrefix("relayd_") || name.hasPrefix("process_"))
            #expect(Double(sample.3) != nil)
            #expect(series.insert("\(sample.1) \(labels)").inserted, "twice: \(line)")
        }
        #expect(kinds.count > 30)
    }

    @Test("the numbers are those of the traffic; buckets add up to the count")
    func numbers() async throws {
        let page = try await Self.page()
        let latency = #"{from="app",answered_by="machine""#
        for sample in [
            #"relayd_build_info{version="\#(Version.current)"} 1"#,
            #"relayd_link_state{state="open"} 1"#, #"relayd_link_state{state="waiting"} 0"#,
            #"relayd_rpc_requests_total{function="RegisterAppInterface"} 3"#,
            #"relayd_rpc_responses_total{function="Show",result="INVALID_DATA"} 1"#,
            #"relayd_rpc_notifications_total{function="OnHMIStatus"} 1"#,
            #"relayd_rpc_latency_seconds_bucket\#(latency),le="0.002"} 0"#,
            #"relayd_rpc_latency_seconds_bucket\#(latency),le="0.005"} 1"#,
            #"relayd_rpc_latency_seconds_bucket\#(latency),le="+Inf"} 3"#,
            #"relayd_rpc_latency_seconds_count\#(latency)} 3"#,
            #"relayd_app_frames_total{app="Music",service="bulk",from="app"} 1"#,
            #"relayd_limit_hits_total{limit="apps.maximum"} 3"#, "relayd_apps 1",
            "relayd_ring_messages 12",
        ] {
            #expect(page.contains("\n\(sample)\n"), "\(sample)")
        }
        #expect(page.contains(#"app="Quote\" Back\\ é""#))
    }

    /// The place where `Tests/Prometheus/fetch-promtool` puts it, or wherever it is installed.
    private static var promtool: String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let places =
            [Checkout.root.appending(path: ".build/tools/promtool").path]
            + path.split(separator: ":").map { "\($0)/promtool" }
        return places.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    @Test(
        "promtool has nothing against them",
        .enabled(if: promtool != nil, "promtool is not here; fetch-promtool gets it"))
    func accepted() async throws {
        let tool = try #require(Self.promtool)
        let page = try await Self.page()
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(page, to: "metrics.txt")
            let check = try await ChildProcess.run(
                "/bin/sh", ["-c", "exec \"$1\" check metrics <\"$2\"", "sh", tool, file],
                environment: [:])
            #expect(check.ending == .exited(0))
            #expect(check.output.isEmpty && check.errors.isEmpty, "\(check.output)\(check.errors)")
        }
    }

    // MARK: The alerts of config/prometheus-rules.yaml

    @Test("the alerts ask for metrics and labels that relayd has")
    func alertedMetrics() async throws {
        let page = try await Self.page()
        let rules = try String(
            contentsOf: Checkout.root.appending(path: "config/prometheus-rules.yaml"),
            encoding: .utf8
        ).split(separator: "\n").filter { $0.firstMatch(of: #/^ *#/#) == nil }
            .joined(separator: "\n")
        let asked = Set(rules.matches(of: #/relayd_[a-z_]+/#).map { String($0.0) })
        #expect(asked.count >= 10)
        for name in asked {
            let family = name.replacing(#/_bucket$/#, with: "")
            #expect(page.contains("# TYPE \(family) "), "there is no \(name)")
        }
        let limits = rules.matches(of: #/limit!?[=~]+"([^"]+)"/#)
            .flatMap { $0.1.split(separator: "|") }
        for limit in limits {
            #expect(RelayLimit(rawValue: String(limit)) != nil, "there is no limit \(limit)")
        }
        #expect(!limits.isEmpty)
    }

    @Test(
        "the alerts come when they should and not when all is well, says promtool",
        .enabled(if: promtool != nil, "promtool is not here; fetch-promtool gets it"))
    func alerts() async throws {
        let tool = try #require(Self.promtool)
        func check(_ arguments: String...) async throws {
            let check = try await ChildProcess.run(tool, arguments, environment: [:])
            #expect(check.ending == .exited(0), "\(check.output)\(check.errors)")
        }
        let rules = Checkout.root.appending(path: "Tests/Prometheus/rules_test.yaml").path
        try await check("test", "rules", rules)
        // promtool looks for the token file, too.
        try await ScratchDirectory.useAsync { directory in
            let config = Checkout.root.appending(path: "config").path
            let text = try String(contentsOfFile: config + "/prometheus.yaml", encoding: .utf8)
            let token = "/run/credentials/prometheus.service/relayd-token"
            try #require(text.contains(token))
            try text.replacing(token, with: directory + "/token").write(
                toFile: directory + "/prometheus.yaml", atomically: false, encoding: .utf8)
            try "0123456789".write(
                toFile: directory + "/token", atomically: false, encoding: .utf8)
            try FileManager.default.copyItem(
                atPath: config + "/prometheus-rules.yaml",
                toPath: directory + "/prometheus-rules.yaml")
            try await check("check", "config", directory + "/prometheus.yaml")
        }
    }
}
