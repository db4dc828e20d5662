// What registered apps cost in memory.

import ControlAPI
import Foundation

/// relayd with its own head unit and more and more apps.
enum RegisteredAppsBenchmark: Benchmark {
    static let name = "apps"
    static let summary = "resident memory with 1, 32 and 255 registered apps"

    private static let counts = [1, 32, 255]

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "sim:, decode and log on; every app has registered and is connected"
        ])
        let relayd = try RelaydProcess(setting, .init(), directory: setting.newDirectory())
        let port = try relayd.port()
        var apps: [Socket] = []
        for count in counts {
            while apps.count < count {
                let app = try Socket.connect(port: port)
                try Registration.play(app: app, number: apps.count + 1)
                apps.append(app)
            }
            _ = relayd.child.settledProcessorTime()
            let memory = try relayd.facts.memory()
            let registered = try relayd.status().apps.count { $0.state == .registered }
            let subject = "\(count) apps"
            findings.add(subject, "relayd", "registered", [Double(registered)], "")
            findings.add(
                subject, "relayd", "resident", [Double(memory.resident) / Double(1 << 20)], "MiB")
            findings.add(
                subject, "relayd", "anonymous", [Double(memory.anonymous) / Double(1 << 20)], "MiB")
            guard count == counts.last else { continue }
            findings.bound("registered apps", Double(registered), .atLeast, Double(count), "")
            findings.bound(
                "resident with \(count) registered apps",
                Double(memory.resident) / Double(1 << 20), .atMost, 40, "MiB")
        }
        withExtendedLifetime(apps) {}
        return findings
    }
}
