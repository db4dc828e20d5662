// How soon relayd reconnects to a head unit on this machine that listens again.

import ControlAPI
import Foundation
import RelayTesting

/// A head unit that goes away for a while and listens again, on the port it had.
enum LinkReturnBenchmark: Benchmark {
    static let name = "return"
    static let summary = "from a TCP head unit listening again to relayd's connection"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "the head unit stays away for up to 3 s, a different time in each round; the clock starts",
            "before it listens and stops when it has relayd's connection",
        ])
        try await UnusedPort.run { port in
            let relayd = try RelaydProcess(
                setting, .init(accessory: "tcp:127.0.0.1:\(port)"),
                directory: setting.newDirectory())
            _ = try relayd.port()
            var waits: [Double] = []
            let rounds = setting.isQuick ? 5 : 40
            for round in 0..<rounds {
                try relayd.until("the head unit is missed") { $0.accessory.state == .waiting }
                // Spread over 3 s; 7 and 40 have no common divisor.
                let absence = 3000 * (round * 7 % rounds) / rounds
                try await Task.sleep(for: .milliseconds(absence))
                let start = Clock.nanoseconds()
                try await FakeAccessory.run(port: port) { accessory in
                    let headUnit = try await accessory.nextLink()
                    waits.append(Double(Clock.nanoseconds() - start) / 1e6)
                    try relayd.until("open") { $0.accessory.state == .open }
                    await headUnit.close()
                }
            }
            findings.add("tcp", "relayd", "connected", waits, "ms")
            findings.bound(
                "back at a local head unit, median of \(waits.count)", waits.median, .atMost, 100,
                "ms")
            findings.bound(
                "the same, longest", waits.max() ?? .infinity, .atMost, 100, "ms")
        }
        return findings
    }
}
