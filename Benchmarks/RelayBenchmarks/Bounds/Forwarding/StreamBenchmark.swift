// How many bytes relayd moves, and at what cost.

import Foundation

/// Streams of frames of several sizes through relayd and through plain forwarders, in turn.
enum StreamBenchmark: Benchmark {
    static let name = "stream"
    static let summary = "streams of 64 B to 128 KB frames both ways over TCP, against socat"

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
        "streams of 64 B to 128 KB frames both ways over TCP and a pty, against socat"

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: Streams.notes)
        try Streams.measure(.pty, setting, &findings)
        return findings
    }
}

/// The part that both have in common.
private enum Streams {
    static let notes = [
        "both ends in C, frames written one by one; RPCs: PutFile and OnSystemRequest with bulk data",
        "(64 B: JSON only), apps.frames_per_second: 0 or they would be paced; decode on, log as named, to",
        "a file (text) or /dev/null; socat -b 131072 with nodelay; rounds in turn; s/GB: processor time of",
        "the program in the middle, what observers do behind the stream included",
    ]
    private static let sizes = [64, 1 << 10, 16 << 10, 128 << 10]

    /// What goes over a lane.
    private struct Course {
        var lane: Lane
        var isVideo = false
        /// Whether its log is kept.
        var isLogged = false

        var name: String {
            guard lane.relayd != nil else { return lane.name }
            return isVideo ? "\(lane.name), video" : lane.name
        }

        /// The number of lines in the log, one for each RPC that the observers saw: without it, the
        /// rates would not be honest. Nil where no log is kept.
        func loggedLines() throws -> Int? {
            isLogged ? try lane.relayd?.loggedLines() : nil
        }
    }

    /// relayd with its text log first, socat last.
    private static func courses(_ link: LinkKind, _ setting: Setting) throws -> [Course] {
        let relayd = try Lane.relayd(setting, .init(keepsLog: true), link: link)
        var courses = [
            Course(lane: relayd, isLogged: true), Course(lane: relayd, isVideo: true),
        ]
        for log in [RelaydProcess.TrafficLog.json, .off] {
            let name = "relayd, log \(log.rawValue)"
            courses.append(
                Course(lane: try .relayd(setting, .init(log: log), name: name, link: link)))
        }
        courses += try Lane.others(setting, link: link).map { Course(lane: $0) }
        return courses + [Course(lane: try Lane.tunedSocat(setting, link: link))]
    }

    static func measure(
        _ link: LinkKind, _ setting: Setting, _ findings: inout Findings
    ) throws {
        let courses = try courses(link, setting)
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
        // A first run warms up, a second measures the rate.
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

    /// Adds the bounds promised for RPCs that are decoded and logged, and for video.
    private static func bound(
        _ subject: String, _ link: LinkKind, _ frameBytes: Int, _ rates: [[Double]],
        _ costs: [[Double]], _ findings: inout Findings
    ) {
        guard let socatRates = rates.last, let socatCosts = costs.last else { return }
        let subject = "\(link.rawValue), \(subject)"
        let promised =
            switch (link, frameBytes) {
            case (.tcp, ..<(1 << 10)): 3.0
            case (.tcp, ..<(16 << 10)): 2.0
            case (.tcp, _): 1.1
            default: 1.0
            }
        findings.bound(
            "\(subject): rate, relayd / socat", rates[0].ratios(to: socatRates).median, .atLeast,
            promised, "×")
        guard link == .tcp, frameBytes >= 16 << 10 else { return }
        for (index, traffic) in ["RPCs", "video"].enumerated() {
            findings.bound(
                "\(subject): processor time of \(traffic), relayd / socat",
                costs[index].ratios(to: socatCosts).median, .atMost, 1, "×")
        }
    }
}
