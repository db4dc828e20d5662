// The output of status, doctor and stats, as whole screens at three widths, in Tests/Fixtures/golden. After a
// change: RELAYD_REWRITE_EXPECTED=1 swift test --filter GoldenTextTests, and read the difference.

import ControlAPI
import Foundation
import RelayTesting
import Testing

@testable import relayctl

@Suite struct GoldenTextTests {
    private static let folder = Checkout.fixtures.appending(path: "golden")

    private static let isRewriting =
        ProcessInfo.processInfo.environment["RELAYD_REWRITE_EXPECTED"] != nil

    static let widths = [60, 80, 200]

    /// Compares the text with the file, or writes the file.
    private func check(_ name: String, _ width: Int, _ text: String) throws {
        for line in text.split(separator: "\n") {
            #expect(String(line).columns <= width, "\(line)")
        }
        let file = Self.folder.appending(path: "\(name)-\(width).txt")
        if Self.isRewriting {
            try FileManager.default.createDirectory(
                at: Self.folder, withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(name) at \(width)")
    }

    /// An idle bench, a busy one, one without its head unit, and one with many problems.
    private static let benches: [(name: String, status: StatusSnapshot)] = [
        ("idle", Samples.snapshot()), ("busy", Samples.busy), ("broken", Samples.broken),
        ("troubled", troubled),
    ]

    private static let troubled: StatusSnapshot = {
        let accessory = AccessoryStatus(
            kind: "tcp", address: "tcp:192.168.1.20:12345", state: .open, since: Samples.start,
            name: "SDL Core (Generic HMI)", framesIn: 2210, bytesIn: 33_801, framesOut: 1810,
            bytesOut: 5_812_000)
        let slow = AppStatus(
            id: 1, peer: "127.0.0.1:40112", connectedAt: Samples.start, state: .registered,
            appName: "Relay Test App", appID: "4711", sessions: [1], protocolVersion: "5.4.0",
            hmiLevel: "FULL", framesFromApp: 20, bytesFromApp: 304_742, framesToApp: 33,
            bytesToApp: 33_280, lastProblem: "it reads too slowly: 900000 of 1048576 bytes wait")
        return Samples.snapshot(
            accessory: accessory,
            link: LinkStatus(
                state: .sessions, sessions: 2, startServiceQueue: 1, protocolVersion: "5.4.0",
                paused: true),
            apps: [
                slow,
                AppStatus(
                    id: 2, peer: "192.168.1.77:40114", connectedAt: Samples.start,
                    state: .connected),
            ],
            departures: [
                AppDeparture(
                    id: 3, peer: "192.168.1.78:40100", appName: "Radio", closedAt: Samples.start,
                    reason: "connection reset (ECONNRESET); the app was killed or crashed",
                    lastProblem: "StartService of the video service was refused")
            ],
            limits: [
                LimitHit(
                    name: "limits.link_queue", limit: 262_144, count: 32, lastAt: Samples.start),
                LimitHit(name: "apps.maximum", limit: 8, count: 1, lastAt: Samples.start),
            ])
    }()

    @Test("status", arguments: widths) func status(width: Int) throws {
        for bench in Self.benches {
            let text = StatusText(width: width, now: Samples.now, localTime: .utc)
            try check("status-\(bench.name)", width, text.render(bench.status))
        }
    }

    @Test("doctor", arguments: widths) func doctor(width: Int) throws {
        for bench in Self.benches {
            let diagnosis = Diagnosis(
                bench.status, advice: [], socket: "/run/relayd/relayd.sock",
                configuration: ConfigurationCheck(
                    isGood: true, lines: ["/etc/relayd/relayd.yaml: ok"]), now: Samples.now)
            try check("doctor-\(bench.name)", width, diagnosis.text(width: width, style: .plain))
        }
    }

    @Test("stats", arguments: widths) func stats(width: Int) throws {
        try check("stats", width, StatsText(width: width).render(StatsTextTests.report()))
    }
}
