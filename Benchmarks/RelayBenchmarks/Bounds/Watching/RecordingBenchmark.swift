// How much a recording costs the forwarding of traffic.

import Foundation

/// Streams of 16 KB frames through a relayd that records every frame, one that keeps the latest in memory, and
/// one that does neither, in turn: at the pace of a fast head unit, and as fast as they go.
enum RecordingBenchmark: Benchmark {
    static let name = "recording"
    static let summary =
        "streams of 16 KB frames while every frame is recorded or kept in memory, against neither"

    /// The most that a head unit on USB 2 takes, in MB/s.
    private static let pace = 40.0
    /// The slices of paced traffic: a tenth of a second each.
    private static let slice = 0.1

    /// - Returns: Findings, with the bounds that Documentation/performance.md promises.
    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "recorded: record.always into a ring of two files of 256 MiB beside the other temporary files,",
            "record.when_behind: wait, so that nothing is missing; in memory: record.last 64 MiB; log off in",
            "all; RPCs with bulk data; rounds in turn; paced: 40 MB/s in slices of 0.1 s, each awaited;",
            "the files' own system decides how fast they can be written",
        ])
        let courses = try [
            ("recorded", "always: true, "), ("in memory", "last: 64 MiB, "), ("neither", ""),
        ].map { name, record in
            Lane.Course(
                try .relayd(setting, .init(configuration: try file(setting, record))), name)
        }
        for direction in StreamDirection.allCases {
            try measure(courses, direction, setting, &findings)
            try measurePaced(courses, direction, setting, &findings)
        }
        return findings
    }

    private static func file(_ setting: Setting, _ record: String) throws -> String {
        let directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/record.yaml"
        let text = """
            apps: { frames_per_second: 0 }
            log: { traffic: false, destination: terminal }
            dashboard: { enabled: false }
            record: { \(record)directory: \(directory)/traces, file_size: 256MiB, files: 2 }

            """
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    // MARK: As fast as they go

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
                // Longer than the queue holds, so that the disk's speed shows.
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
        compare(courses, rates, subject, atLeast: 75, &findings)
    }

    // MARK: At the pace of a head unit

    private static func measurePaced(
        _ courses: [Lane.Course], _ direction: StreamDirection, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let streams = courses.map { Stream($0.lane, direction, frameBytes: 16 << 10) }
        var rates = courses.map { _ in [Double]() }
        for _ in 0..<setting.rounds {
            for (index, stream) in streams.enumerated() {
                rates[index].append(try paced(stream, seconds: setting.isQuick ? 0.5 : 3))
            }
        }
        let subject = "16 KB \(direction.rawValue) at \(Int(pace)) MB/s"
        for (index, course) in courses.enumerated() {
            findings.add(subject, course.name, "rate", rates[index], "MB/s")
        }
        compare(courses, rates, subject, atLeast: 97, &findings)
    }

    /// Sends at the pace, and returns the rate reached: less when slices were late.
    private static func paced(_ stream: Stream, seconds: Double) throws -> Double {
        let start = ContinuousClock.now
        let count = max(1, Int(seconds / slice))
        var bytes = 0
        for number in 1...count {
            bytes += try stream.run(bytes: Int(pace * 1e6 * slice)).bytes
            let rest = ContinuousClock.now.duration(
                to: start.advanced(by: .seconds(Double(number) * slice)))
            if rest > .zero { usleep(UInt32(rest / .microseconds(1))) }
        }
        return Double(bytes) / (start.duration(to: .now) / .seconds(1)) / 1e6
    }

    /// - Parameter bound: Of the recorded rate, in percent of the rate without a recording.
    private static func compare(
        _ courses: [Lane.Course], _ rates: [[Double]], _ subject: String, atLeast bound: Double,
        _ findings: inout Findings
    ) {
        guard let plain = rates.last else { return }
        for (course, rate) in zip(courses, rates).dropLast() {
            let ratio = rate.ratios(to: plain).map { $0 * 100 }
            findings.add(subject, "\(course.name) / neither", "rate", ratio, "%")
            findings.bound(
                "rate of \(subject), \(course.name) / neither", ratio.median, .atLeast, bound, "%")
        }
    }
}

extension Lane {
    /// A lane, named after what is special about it.
    fileprivate struct Course {
        var lane: Lane
        var name: String

        init(_ lane: Lane, _ name: String) {
            self.lane = lane
            self.name = name
        }
    }
}
