// How long relayd takes to be ready.

import Foundation

/// From just before the start of the process to its READY=1 for systemd.
enum StartBenchmark: Benchmark {
    static let name = "start"
    static let summary = "time from starting relayd to READY=1 on its NOTIFY_SOCKET"

    private static let starts = 20

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "with the shipped config/relayd.yaml, sim:, and the dashboard on a free port"
        ])
        let configuration = FileManager.default.currentDirectoryPath + "/config/relayd.yaml"
        let options = RelaydProcess.Options(
            hasDashboard: true,
            configuration: FileManager.default.fileExists(atPath: configuration)
                ? configuration : nil)
        var times: [Double] = []
        var processorTimes: [Double] = []
        for _ in 0..<(setting.isQuick ? 3 : starts) {
            let relayd = try RelaydProcess(
                setting, options, directory: setting.newDirectory())
            times.append(relayd.startTime * 1000)
            processorTimes.append(relayd.child.processorTime * 1000)
            relayd.child.end()
        }
        findings.add("start to READY", "relayd", "time", times, "ms")
        findings.add("start to READY", "relayd", "processor time", processorTimes, "ms")
        findings.bound("start to READY, median of \(times.count)", times.median, .atMost, 100, "ms")
        return findings
    }
}
