// Whether relayd stays intact and its memory flat while apps come and die for a long time.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting

/// `Soak` around the built relayd: a first part in which memory grows to its size, and the rest.
enum SoakBenchmark: Benchmark {
    static let name = "soak"
    static let summary =
        "apps that come, talk and die at random (--minutes, --apps, --seed); runs only when named"
    static let runsOnlyWhenNamed = true

    /// The share of the whole time in which memory grows to its size.
    private static let warmUpShare = 0.2

    static func run(_ setting: Setting) async throws -> Findings {
        let (minutes, apps, seed) = (
            setting.isQuick ? 0.2 : setting.soak.minutes, setting.soak.apps, setting.soak.seed
        )
        var findings = Findings(notes: [
            "\(apps) apps, seed \(seed), \(Report.text(minutes)) minutes; every byte has to be what"
                + " its sender's number and count",
            "say; the head unit hangs up inside a frame every 20 s; the apps go on until FIN, RST,",
            "either inside a frame, or EndService; growth: from the end of the first fifth, when",
            "all apps had left, to the end, when all have left again",
        ])
        let soak = try await Soak.start(
            SoakOptions(seed: seed, apps: apps, replugEvery: .seconds(setting.isQuick ? 2 : 20)))
        let relayd = try RelaydProcess(
            setting,
            .init(
                accessory: "tcp:127.0.0.1:\(soak.accessoryPort)",
                configuration: try configuration(in: setting.newDirectory())),
            directory: setting.newDirectory())
        let port = Int(try relayd.port())
        let milliseconds = minutes * 60_000
        let first = try await soak.run(
            appPort: port, for: .milliseconds(Int64(milliseconds * warmUpShare)))
        let before = try quiet(relayd)
        let rest = try await soak.run(
            appPort: port, for: .milliseconds(Int64(milliseconds * (1 - warmUpShare))))
        let after = try quiet(relayd)
        await soak.close()

        add(first, "first fifth", &findings)
        add(rest, "the rest", &findings)
        for (name, facts) in [("after the first fifth", before), ("at the end", after)] {
            findings.add(name, "relayd", "resident", [facts.resident], "MiB")
            findings.add(name, "relayd", "descriptors", [Double(facts.descriptors)], "")
        }
        let faults = first.faults.merging(rest.faults, uniquingKeysWith: +)
        findings.notes +=
            faults.sorted { $0.value > $1.value }.map { "FAULTS: \($0.value) x \($0.key.rawValue)" }
            + (first.faultExamples + rest.faultExamples).map { "FAULT: \($0)" }
        findings.bound(
            "soak: faults", Double(faults.values.reduce(0, +)), .atMost, 0, "")
        findings.bound("soak: lives known to be whole", Double(rest.wholeLives), .atLeast, 1, "")
        findings.bound(
            "soak: more descriptors", Double(after.descriptors - before.descriptors), .atMost, 0,
            "")
        findings.bound("soak: sessions left", Double(after.sessions), .atMost, 0, "")
        // Before that the ring of messages is still filling up.
        guard minutes >= 5 else { return findings }
        findings.bound(
            "soak: growth of resident memory", after.resident - before.resident, .atMost, 8, "MiB")
        return findings
    }

    /// Lifts the limits on how much one address or app may do in a second: all apps come from one
    /// address, faster than on any bench, and would be refused for that.
    private static func configuration(in directory: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/soak.yaml"
        let text = """
            apps: { frames_per_second: 0, connections_per_second: 0 }
            log: { traffic: true, format: text, destination: terminal }
            dashboard: { enabled: false }

            """
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    private static func add(_ tally: SoakTally, _ subject: String, _ findings: inout Findings) {
        let numbers = [
            ("lives", tally.lives, ""), ("whole lives", tally.wholeLives, ""),
            ("replugs", tally.replugs, ""),
            ("frames from apps", tally.framesFromApps, ""),
            ("frames to apps", tally.framesToApps, ""),
            ("bytes from apps", tally.bytesFromApps >> 20, "MiB"),
            ("bytes to apps", tally.bytesToApps >> 20, "MiB"),
        ]
        for (quantity, number, unit) in numbers {
            findings.add(subject, "relayd", quantity, [Double(number)], unit)
        }
        for (ending, number) in tally.endings.sorted(by: { $0.key < $1.key }) {
            findings.add(subject, "relayd", "ended by \(ending)", [Double(number)], "")
        }
    }

    private struct Facts {
        var resident: Double
        var descriptors: Int
        var sessions: Int
    }

    /// The facts once every app has left and the observers have nothing left to do.
    private static func quiet(_ relayd: RelaydProcess) throws -> Facts {
        try relayd.until("no app is left") { $0.apps.isEmpty }
        _ = relayd.child.settledProcessorTime()
        // The request opens a connection; the one before it must be closed.
        let status = try relayd.status()
        usleep(100_000)
        let descriptors = try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(relayd.child.processID)/fd")
        return Facts(
            resident: Double(try relayd.facts.memory().resident) / Double(1 << 20),
            descriptors: descriptors.count, sessions: status.link.sessions)
    }
}
