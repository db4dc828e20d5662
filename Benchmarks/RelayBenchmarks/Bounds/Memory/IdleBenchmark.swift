// What relayd costs while nothing happens: memory, and how often it wakes up.

import Foundation

/// relayd with one link and one registered app that are silent.
enum IdleBenchmark: Benchmark {
    static let name = "idle"
    static let summary =
        "memory and wake-ups of relayd with one link and one registered app, both silent"

    /// Leftovers of the start must not count: worker threads that end, and cancelled timers that wake the
    /// loop once more, the latest that of a StartService's answer, 20 s.
    private static let settleSeconds: UInt32 = 22
    private static let watchedSeconds: UInt32 = 10

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "no watchdog asked for; wake-ups: voluntary context switches of all threads in "
                + "\(watchedSeconds) s"
        ])
        let sim = try RelaydProcess(setting, .init(), directory: setting.newDirectory())
        let app = try Socket.connect(port: sim.port())
        try Registration.play(app: app)
        let lane = try Lane.relayd(setting)
        sleep(setting.isQuick ? 1 : settleSeconds)

        let (simWakeUps, tcpWakeUps) = try wakeUps(of: sim, lane)
        let memory = try sim.facts.memory()
        let (resident, anonymous) = (mebibytes(memory.resident), mebibytes(memory.anonymous))
        findings.add("sim:, registered app", "relayd", "resident", [resident], "MiB")
        findings.add("sim:, registered app", "relayd", "anonymous", [anonymous], "MiB")
        findings.add("sim:, registered app", "relayd", "threads", [Double(simWakeUps.threads)], "")
        findings.add("sim:, registered app", "relayd", "wake-ups", [simWakeUps.count], "")
        let tcpMemory = try ProcessFacts(processID: lane.child.processID).memory()
        findings.add(
            "tcp:, registered app", "relayd", "resident", [mebibytes(tcpMemory.resident)], "MiB")
        findings.add(
            "tcp:, registered app", "relayd", "anonymous", [mebibytes(tcpMemory.anonymous)], "MiB")
        findings.add("tcp:, registered app", "relayd", "wake-ups", [tcpWakeUps.count], "")
        findings.bound("idle, sim: and one app: resident", resident, .atMost, 28, "MiB")
        findings.bound("idle, sim: and one app: anonymous", anonymous, .atMost, 12, "MiB")
        findings.bound(
            "idle, silent tcp: link and one app: wake-ups in \(watchedSeconds) s",
            tcpWakeUps.count, .atMost, 0, "")
        withExtendedLifetime((app, sim, lane)) {}
        return findings
    }

    private static func wakeUps(
        of sim: RelaydProcess, _ lane: Lane
    ) throws -> ((count: Double, threads: Int), (count: Double, threads: Int)) {
        let processes = [sim.facts, ProcessFacts(processID: lane.child.processID)]
        let before = try processes.map { try $0.threads() }
        sleep(watchedSeconds)
        let after = try processes.map { try $0.threads() }
        let counts = zip(before, after).map { before, after in
            let switches = after.map { id, thread in
                thread.voluntarySwitches - (before[id]?.voluntarySwitches ?? 0)
            }
            return (count: Double(switches.reduce(0, +)), threads: after.count)
        }
        return (counts[0], counts[1])
    }

    private static func mebibytes(_ bytes: Int) -> Double { Double(bytes) / Double(1 << 20) }
}
