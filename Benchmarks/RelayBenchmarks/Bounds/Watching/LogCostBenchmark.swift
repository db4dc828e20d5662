// How much observing traffic costs its forwarding.

import Foundation
import SDLProtocol

/// Floods of RPCs through a relayd that decodes, validates, advises, remembers and logs, and through
/// one that forwards and does as little else as possible, in turn.
enum LogCostBenchmark: Benchmark {
    static let name = "log-cost"
    static let summary = "forwarding of 600 B RPCs with the log at full detail, against log off"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "on: decoded, validated, advice, facts, ring of 16 MiB, text log to a file;",
            "off: log.traffic false, limits.ring 0, limits.tap_queue so small that observers see little",
            "of it; apps.frames_per_second 0; rounds in turn; loop = event-loop thread;",
            "seen + missed = 100 % when every frame is either logged or counted as missed",
        ])
        let courses = [
            Course(lane: try .relayd(setting, .init(keepsLog: true)), isOn: true),
            Course(lane: try .relayd(setting, .init(configuration: try off(setting))), isOn: false),
        ]
        for direction in [StreamDirection.fromApp, .fromHeadUnit] {
            try measure(courses, direction, setting, &findings)
        }
        return findings
    }

    private static func off(_ setting: Setting) throws -> String {
        let directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/off.yaml"
        let text = """
            apps: { frames_per_second: 0 }
            limits: { ring: 0B, tap_queue: 129KiB }
            log: { traffic: false, destination: terminal }
            dashboard: { enabled: false }

            """
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    private static func measure(
        _ courses: [Course], _ direction: StreamDirection, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let floods = courses.map { FrameFlood($0.lane, direction) }
        let repetitions = setting.isQuick ? 4 : 24
        for flood in floods { _ = try flood.run(repetitions: 2) }
        _ = try courses[0].lane.relayd?.takeLog()
        var rounds = courses.map { _ in [FrameFlood.Result]() }
        var seen: [LogShare] = []
        for _ in 0..<setting.rounds {
            for (index, flood) in floods.enumerated() {
                rounds[index].append(try flood.run(repetitions: repetitions))
            }
            if let log = try courses[0].lane.relayd?.takeLog() {
                seen.append(LogShare(log, frames: repetitions * FrameFlood.frames))
            }
        }
        report(floods[0].subject, courses, rounds, seen, &findings)
    }

    private static func report(
        _ subject: String, _ courses: [Course], _ rounds: [[FrameFlood.Result]],
        _ seen: [LogShare], _ findings: inout Findings
    ) {
        for (course, results) in zip(courses, rounds) {
            findings.add(subject, course.name, results)
        }
        findings.add(subject, "log on", "seen", seen.map(\.seen), "%")
        findings.add(subject, "log on", "missed, counted", seen.map(\.missed), "%")
        let rates = rounds.map { $0.map(\.framesPerSecond) }
        let ratio = rates[0].ratios(to: rates[1]).map { $0 * 100 }
        findings.add(subject, "on / off", "rate", ratio, "%")
        findings.bound(
            "forwarding rate of \(subject), log on / off", ratio.median, .atLeast, 90, "%")
        let accounted = seen.map { min($0.seen + $0.missed, 200 - $0.seen - $0.missed) }
        findings.bound(
            "\(subject), logged or counted as missed", accounted.min() ?? 0, .atLeast, 99.9, "%")
    }

    private struct Course {
        var lane: Lane
        var isOn: Bool
        var name: String { isOn ? "log on" : "log off" }
    }
}

/// How much of a flood is in the log.
private struct LogShare {
    /// The percentage of the frames that have a line.
    var seen: Double
    /// The percentage of the frames that lines of the log count as not shown.
    var missed: Double

    /// The text before the number in lines that tell of missing ones: the observers were too slow, or the
    /// reader of the log was.
    private static let notices = ["not shown: ", "… "].map { Data($0.utf8) }

    init(_ log: Data, frames: Int) {
        var (shown, missed) = (0, 0)
        for line in log.split(separator: UInt8(ascii: "\n")) {
            if let count = Self.missed(line) { missed += count } else { shown += 1 }
        }
        seen = 100 * Double(shown) / Double(frames)
        self.missed = 100 * Double(missed) / Double(frames)
    }

    /// The number in a notice; nil for any other line.
    private static func missed(_ line: Data) -> Int? {
        // An RPC's line begins with its time and has a direction, which relayd's own does not.
        guard line.first == 0xE2 || line.firstRange(of: Data("·  relay".utf8)) != nil,
            let start = notices.compactMap({ line.firstRange(of: $0)?.upperBound }).first
        else { return nil }
        return Int(
            String(decoding: line[start...].prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
    }
}
