// How long relayctl takes.

import Foundation
import Glibc

/// From just before the start of relayctl until it has ended, against a relayd with an app.
enum ToolBenchmark: Benchmark {
    static let name = "relayctl"
    static let summary = "time of relayctl status and others from start to exit"

    private static let starts = 51
    private static let looks = [["status"], ["status", "--json"], ["apps"], ["--version"]]

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "sim: and one registered app; output into /dev/null; commands in turn; processor time of "
                + "relayctl alone"
        ])
        let relayd = try RelaydProcess(setting, .init(), directory: setting.newDirectory())
        let app = try Socket.connect(port: relayd.port())
        try Registration.play(app: app)
        var times = looks.map { _ in [Double]() }
        var processorTimes = looks.map { _ in [Double]() }
        // The first start reads the program from the disk.
        for round in 0...(setting.isQuick ? 5 : starts) {
            for (index, arguments) in looks.enumerated() {
                let (time, processorTime) = try run(setting, arguments, relayd)
                guard round > 0 else { continue }
                times[index].append(time)
                processorTimes[index].append(processorTime)
            }
        }
        for (index, arguments) in looks.enumerated() {
            let words = "relayctl \(arguments.joined(separator: " "))"
            findings.add(words, "relayctl", "time", times[index], "ms")
            findings.add(words, "relayctl", "processor time", processorTimes[index], "ms")
        }
        findings.bound(
            "relayctl status, start to exit, median of \(times[0].count)", times[0].median,
            .atMost, 30, "ms")
        withExtendedLifetime((app, relayd)) {}
        return findings
    }

    /// Clock time and processor time in milliseconds.
    private static func run(
        _ setting: Setting, _ arguments: [String], _ relayd: RelaydProcess
    ) throws -> (time: Double, processorTime: Double) {
        let socket = arguments.first == "--version" ? [] : ["--socket", relayd.controlSocket]
        let before = Clock.now()
        let tool = try MeasuredProcess(setting.relayctl, arguments + socket)
        let (code, usage) = try tool.ended()
        let time = Clock.now() - before
        guard code == 0 else {
            throw BenchmarkError("relayctl \(arguments.joined(separator: " ")) ended with \(code)")
        }
        return (time * 1000, usage * 1000)
    }
}
