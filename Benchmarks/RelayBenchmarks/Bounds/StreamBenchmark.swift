// How many bytes relayd moves, and what they cost.

import ControlAPI

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
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "RPCs: PutFile and OnSystemRequest with bulk data, apps.frames_per_second: 0 or they",
            "would be paced; video needs no such setting; decode and log on, log to /dev/null;",
            "socat with nodelay on both ends; rounds in turn",
        ])
        let relayd = try Lane.relayd(setting)
        let courses = [
            Course(lane: relayd), Course(lane: relayd, isVideo: true),
            Course(lane: try Lane.socat(setting)),
            Course(lane: try Lane.socat(setting, buffer: 128 << 10)),
        ]
        for direction in StreamDirection.allCases {
            try measure(courses, direction, setting, &findings)
        }
        try addMisses(relayd, &findings)
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
        for stream in streams { _ = try stream.run(bytes: bytes / 4) }
        for _ in 0..<setting.rounds {
            for (index, stream) in streams.enumerated() {
                let result = try stream.run(bytes: bytes)
                rates[index].append(result.megabytesPerSecond)
                costs[index].append(result.processorSecondsPerGigabyte)
            }
        }
        let subject = "16 KB \(direction.rawValue)"
        for (course, rounds) in zip(courses, rates) {
            findings.add(subject, course.name, "rate", rounds, "MB/s")
        }
        for (course, rounds) in zip(courses, costs) {
            findings.add(subject, course.name, "processor time", rounds, "s/GB")
        }
        findings.bound(
            "16 KB frames \(direction.rawValue), RPCs decoded and logged, relayd / socat",
            rates[0].median / rates[2].median, .atLeast, 1, "×")
    }

    /// What the observers did not see: without this the rates would not be honest.
    private static func addMisses(_ lane: Lane, _ findings: inout Findings) throws {
        guard let relayd = lane.relayd else { return }
        let log = try relayd.status().log
        findings.add(
            "all streams", "relayd", "reads that decode and log missed",
            [Double(log.droppedBatches)], "")
        findings.add(
            "all streams", "relayd", "lines that were not written", [Double(log.droppedLines)], "")
    }
}
