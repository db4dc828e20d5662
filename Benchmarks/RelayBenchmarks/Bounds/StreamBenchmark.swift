// How many bytes relayd moves, and what they cost.

import Foundation

/// Streams of 16 KB frames through relayd and through socat, in turn.
enum StreamBenchmark: Benchmark {
    static let name = "stream"
    static let summary = "streams of 16 KB frames both ways, against socat with 8 and 128 KB"

    private static let frameBytes = 16 << 10

    /// What goes over a lane.
    private struct Course {
        var lane: Lane
        var isVideo = false

        var name: String {
            lane.relayd == nil ? lane.name : "\(lane.name), \(isVideo ? "video" : "RPCs")"
        }

        /// Lines in the log, of which there is one for each RPC that the observers saw: without
        /// this, the rates would not be honest. Nil where nothing is logged.
        func loggedLines() throws -> Int? {
            isVideo ? nil : try lane.relayd?.loggedLines()
        }
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "RPCs: PutFile and OnSystemRequest with bulk data, apps.frames_per_second: 0 or they",
            "would be paced; video needs no such setting; decode and log on, log to a file;",
            "socat with nodelay on both ends; rounds in turn",
        ])
        let relayd = try Lane.relayd(setting, .init(keepsLog: true))
        let courses = [
            Course(lane: relayd), Course(lane: relayd, isVideo: true),
            Course(lane: try Lane.socat(setting)),
            Course(lane: try Lane.socat(setting, buffer: 128 << 10)),
        ]
        for direction in StreamDirection.allCases {
            try measure(courses, direction, setting, &findings)
        }
        return findings
    }

    private static func measure(
        _ courses: [Course], _ direction: StreamDirection, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let streams = courses.map {
            Stream($0.lane, direction, frameBytes: frameBytes, isVideo: $0.isVideo)
        }
        let bytes = setting.isQuick ? 64 << 20 : 512 << 20
        var rates = courses.map { _ in [Double]() }
        var costs = courses.map { _ in [Double]() }
        var logged: [Double] = []
        for stream in streams { _ = try stream.run(bytes: bytes / 4) }
        for _ in 0..<setting.rounds {
            for (index, stream) in streams.enumerated() {
                let lines = try courses[index].loggedLines()
                let result = try stream.run(bytes: bytes)
                rates[index].append(result.megabytesPerSecond)
                costs[index].append(result.processorSecondsPerGigabyte)
                if let lines, let after = try courses[index].loggedLines() {
                    logged.append(100 * Double(after - lines) / Double(result.frames))
                }
            }
        }
        let subject = "16 KB \(direction.rawValue)"
        for (course, rounds) in zip(courses, rates) {
            findings.add(subject, course.name, "rate", rounds, "MB/s")
        }
        for (course, rounds) in zip(courses, costs) {
            findings.add(subject, course.name, "processor time", rounds, "s/GB")
        }
        findings.add(subject, "relayd, RPCs", "share in the log", logged, "%")
        findings.bound(
            "16 KB frames \(direction.rawValue), RPCs decoded and logged, relayd / socat",
            rates[0].median / rates[2].median, .atLeast, 1, "×")
    }
}
