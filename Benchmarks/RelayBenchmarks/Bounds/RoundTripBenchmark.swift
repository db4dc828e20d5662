// How much later a frame arrives because relayd is in between.

import Foundation

/// Round trips of one frame through relayd and through plain forwarders, in turn.
enum RoundTripBenchmark: Benchmark {
    static let name = "round-trip"
    static let summary =
        "round trips of 64 B to 128 KB over TCP, idle and beside a stream, against socat"

    private static let sizes = [64, 1 << 10, 16 << 10, 128 << 10]
    private static let tuned = 128 << 10
    /// A video of good quality has 1 MB/s; this keeps the link busy and no processor.
    private static let loadBytesPerSecond = 20_000_000
    private static let loadFrameBytes = 16 << 10

    /// A lane with its head unit at work.
    private struct Course {
        var lane: Lane
        /// Carries the other app's stream: the same relayd, or another process beside this one.
        var loadLane: Lane
        var load: (app: Socket, session: UInt8)

        var name: String { lane.name }

        init(_ lane: Lane, besides other: Lane?) throws {
            self.lane = lane
            loadLane = other ?? lane
            load = try other.map { ($0.app, $0.session) } ?? lane.join()
        }

        func headUnits(answering bytes: Int) -> [AnsweringHeadUnit] {
            let answers = [lane.session: Pings.answer(session: lane.session, bytes: bytes)]
            let first = AnsweringHeadUnit(lane.headUnit, answers: answers)
            guard loadLane !== lane else { return [first] }
            return [first, AnsweringHeadUnit(loadLane.headUnit, answers: [:])]
        }

        func startLoad() -> Flood {
            let frame = Traffic.wire([
                Traffic.video(session: load.session, bytes: loadFrameBytes, message: 1)
            ])
            let socket = load.app
            return Flood([frame], bytesPerSecond: loadBytesPerSecond) { try socket.write($0) }
        }
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "one request in flight, answered by the head unit; decode and log on, log to /dev/null;",
            "apps.frames_per_second: 0; socat with nodelay on both ends; rounds in turn; loaded:",
            "another app sends \(loadBytesPerSecond / 1_000_000) MB/s of 16 KB video frames over the"
                + " same relayd, or over a second socat",
        ])
        let courses = [
            try Course(Lane.relayd(setting), besides: nil),
            try Course(Lane.socat(setting), besides: Lane.socat(setting)),
            try Course(
                Lane.socat(setting, buffer: tuned), besides: Lane.socat(setting, buffer: tuned)),
        ]
        for bytes in sizes {
            for isLoaded in [false, true] {
                try measure(courses, bytes, isLoaded: isLoaded, setting, &findings)
            }
        }
        return findings
    }

    private static func measure(
        _ courses: [Course], _ bytes: Int, isLoaded: Bool, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let number = setting.isQuick ? 200 : bytes < 16 << 10 ? 3000 : 1000
        var rounds = courses.map { _ in [[Double]]() }
        for _ in 0..<setting.rounds {
            for (index, course) in courses.enumerated() {
                let headUnits = course.headUnits(answering: bytes)
                defer { for headUnit in headUnits { headUnit.stop() } }
                let load = isLoaded ? course.startLoad() : nil
                defer { load?.stop() }
                var pings = Pings(course.lane.app, session: course.lane.session, bytes: bytes)
                _ = try pings.run(number / 10)
                rounds[index].append(try pings.run(number))
            }
        }
        let subject = "\(Report.size(bytes))\(isLoaded ? ", loaded" : "")"
        for (share, quantity) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")] {
            let values = rounds.map { $0.map { $0.percentile(share) } }
            for (course, values) in zip(courses, values) {
                findings.add(subject, course.name, quantity, values, "µs")
            }
            guard share < 0.999, bytes <= 1 << 10 else { continue }
            findings.bound(
                "round trip of \(subject): \(quantity), relayd / socat",
                values[0].ratios(to: values[1]).median, .atMost, share == 0.5 ? 1.1 : 1.2, "×")
        }
    }
}
