// How many bytes relayd moves, and what they cost.

import Foundation

/// Streams of frames of several sizes through relayd and through plain forwarders, in turn.
enum StreamBenchmark: Benchmark {
    static let name = "stream"
    static let summary =
        "streams of 64 B to 128 KB frames both ways over TCP, against socat and ser2net"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: Streams.notes)
        try Streams.measure(.tcp, setting, &findings)
        return findings
    }
}

/// The same with a serial line as the link.
enum SerialStreamBenchmark: Benchmark {
    static let name = "stream-pty"
    static let summary =
        "streams of 64 B to 128 KB frames both ways over TCP and a pty, against socat and ser2net"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: Streams.notes)
        try Streams.measure(.pty, setting, &findings)
        return findings
    }
}

/// What both have in common.
private enum Streams {
    static let notes = [
        "frames written one by one; RPCs: PutFile and OnSystemRequest with bulk data (64 B: JSON",
        "only), apps.frames_per_second: 0 or they would be paced; decode and log on, log to a file;",
        "socat with nodelay, ser2net with nodelay and 64 KB buffers; rounds in turn; s/GB: processor",
        "time of the program in the middle, what observers do behind the stream included",
    ]
    private static let sizes = [64, 1 << 10, 16 << 10, 128 << 10]
    private static let tuned = 128 << 10

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

    static func measure(
        _ link: LinkKind, _ setting: Setting, _ findings: inout Findings
    ) throws {
        let relayd = try Lane.relayd(setting, .init(keepsLog: true), link: link)
        var courses = [
            Course(lane: relayd), Course(lane: relayd, isVideo: true),
            Course(lane: try Lane.socat(setting, link: link)),
            Course(lane: try Lane.socat(setting, buffer: tuned, link: link)),
        ]
        if Setting.hasSer2net {
            courses.append(Course(lane: try Lane.ser2net(setting, link: link)))
        }
        for bytes in sizes {
            for direction in StreamDirection.allCases {
                try measure(courses, link, bytes, direction, setting, &findings)
            }
        }
    }

    private static func measure(
        _ courses: [Course], _ link: LinkKind, _ frameBytes: Int, _ direction: StreamDirection,
        _ setting: Setting, _ findings: inout Findings
    ) throws {
        let streams = courses.map {
            Stream($0.lane, direction, frameBytes: frameBytes, isVideo: $0.isVideo)
        }
        let seconds = setting.isQuick ? 0.1 : 0.4
        var rates = courses.map { _ in [Double]() }
        var costs = courses.map { _ in [Double]() }
        var logged: [Double] = []
        // A first run warms up, a second tells the rate.
        let expected = try streams.map { stream in
            _ = try stream.run(bytes: 1 << 20)
            return try stream.run(bytes: setting.isQuick ? 1 << 20 : 8 << 20).megabytesPerSecond
        }
        for _ in 0..<setting.rounds {
            for (index, stream) in streams.enumerated() {
                let lines = try courses[index].loggedLines()
                let result = try stream.run(seconds: seconds, rate: expected[index])
                rates[index].append(result.megabytesPerSecond)
                costs[index].append(result.processorSecondsPerGigabyte)
                if let lines, let after = try courses[index].loggedLines() {
                    logged.append(100 * Double(after - lines) / Double(result.frames))
                }
            }
        }
        try courses.first?.lane.relayd?.forgetLog()
        let subject = "\(Report.size(frameBytes)) \(direction.rawValue)"
        for (course, rounds) in zip(courses, rates) {
            findings.add(subject, course.name, "rate", rounds, "MB/s")
        }
        for (course, rounds) in zip(courses, costs) {
            findings.add(subject, course.name, "cost", rounds, "s/GB")
        }
        findings.add(subject, courses[0].name, "in the log", logged, "%")
        bound(subject, link, frameBytes, rates, costs, &findings)
    }

    /// Issue by issue what is promised, RPCs decoded and logged; index 3 is tuned socat.
    private static func bound(
        _ subject: String, _ link: LinkKind, _ frameBytes: Int, _ rates: [[Double]],
        _ costs: [[Double]], _ findings: inout Findings
    ) {
        let (socat, subject) = (link == .tcp ? 3 : 2, "\(link.rawValue), \(subject)")
        let name = socat == 3 ? "socat -b \(tuned)" : "socat"
        findings.bound(
            "\(subject): rate, relayd / \(name)", rates[0].ratios(to: rates[socat]).median,
            .atLeast, link == .tcp && frameBytes < 1024 ? 2 : 1, "×")
        guard link == .tcp, frameBytes >= 16 << 10 else { return }
        for (index, traffic) in ["RPCs", "video"].enumerated() {
            findings.bound(
                "\(subject): processor time of \(traffic), relayd / \(name)",
                costs[index].ratios(to: costs[socat]).median, .atMost, 1.15, "×")
        }
    }
}
