// What a recording costs those who wait for traffic to be forwarded.

import Foundation

/// Streams of 16 KB frames through a relayd that records every frame and through one that does not, in turn,
/// as fast as they go.
enum RecordCostBenchmark: Benchmark {
    static let name = "record-cost"
    static let summary =
        "streams of 16 KB frames while every frame is recorded, against no recording"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "recorded: record.always into a ring of two files of 256 MiB beside the other temporary files,",
            "record.when_behind: wait, so that nothing is missing; log off in both; RPCs with bulk data;",
            "rounds in turn; the files' own system decides how fast they can be written",
        ])
        let courses = [
            Lane.Course(
                try .relayd(setting, .init(configuration: try file(setting, isRecording: true))),
                "recorded"),
            Lane.Course(
                try .relayd(setting, .init(configuration: try file(setting, isRecording: false))),
                "not recorded"),
        ]
        for direction in StreamDirection.allCases {
            try measure(courses, direction, setting, &findings)
        }
        return findings
    }

    private static func file(_ setting: Setting, isRecording: Bool) throws -> String {
        let directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/record.yaml"
        let text = """
            apps: { frames_per_second: 0 }
            log: { traffic: false, destination: terminal }
            dashboard: { enabled: false }
            record: { always: \(isRecording), directory: \(directory)/traces, file_size: 256MiB, files: 2 }

            """
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    private static func measure(
        _ courses: [Lane.Course], _ direction: StreamDirection, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let streams = courses.map { Stream($0.lane, direction, frameBytes: 16 << 10) }
        var rates = courses.map { _ in [Double]() }
        var costs = courses.map { _ in [Double]() }
        let expected = try streams.map { stream in
            _ = try stream.run(bytes: 8 << 20)
            return try stream.run(bytes: 64 << 20).megabytesPerSecond
        }
        for _ in 0..<setting.rounds {
            for (index, stream) in streams.enumerated() {
                // Longer than the queue holds, so that the disk's pace is seen.
                let result = try stream.run(
                    seconds: setting.isQuick ? 0.5 : 1.5, rate: expected[index])
                rates[index].append(result.megabytesPerSecond)
                costs[index].append(result.processorSecondsPerGigabyte)
            }
        }
        let subject = "16 KB \(direction.rawValue)"
        for (index, course) in courses.enumerated() {
            findings.add(subject, course.name, "rate", rates[index], "MB/s")
            findings.add(subject, course.name, "cost", costs[index], "s/GB")
        }
        let ratio = rates[0].ratios(to: rates[1]).map { $0 * 100 }
        findings.add(subject, "recorded / not", "rate", ratio, "%")
        findings.bound(
            "rate of \(subject), recorded / not recorded", ratio.median, .atLeast, 75, "%")
    }
}

extension Lane {
    /// A lane by what is special about it.
    fileprivate struct Course {
        var lane: Lane
        var name: String

        init(_ lane: Lane, _ name: String) {
            self.lane = lane
            self.name = name
        }
    }
}
