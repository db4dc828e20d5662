// How much later a frame arrives when relayd is in between.

import Foundation

/// Round trips of one frame through relayd and through a plain forwarder, in turn.
enum RoundTripBenchmark: Benchmark {
    static let name = "round-trip"
    static let summary =
        "round trips of 64 B to 128 KB over TCP, idle, beside a stream and beside a compiler, against socat"

    /// A video of good quality has 1 MB/s; this rate keeps the link busy, but no processor.
    private static let loadBytesPerSecond = 20_000_000
    private static let loadFrameBytes = 16 << 10

    /// What else runs meanwhile.
    private enum Company: String {
        case nobody = ""
        case stream = ", beside a stream"
        case compiler = ", beside a compiler"
    }

    private static let plan: [(company: Company, sizes: [Int])] = [
        (.nobody, [64, 1 << 10, 16 << 10, 128 << 10]), (.stream, [64, 1 << 10]),
        (.compiler, [64, 1 << 10]),
    ]

    /// A lane with its head unit at work.
    private struct Course {
        var lane: Lane
        /// Carries the other app's stream: the same relayd, or another process beside this one.
        var loadLane: Lane
        var load: (app: Socket, session: UInt8)

        var name: String { lane.name }

        init(_ lane: Lane, besides other: Lane? = nil) throws {
            self.lane = lane
            loadLane = other ?? lane
            load = try other.map { ($0.app, $0.session) } ?? lane.join()
        }

        /// Runs `body` with this company.
        func with<Result>(_ company: Company, _ body: () throws -> Result) throws -> Result {
            switch company {
            case .nobody: try body()
            case .compiler: try PlainEnds.besideCompiler(body)
            case .stream:
                if loadLane === lane {
                    try streaming(body)
                } else {
                    try PlainEnds.withHeadUnit(loadLane.headUnit, PlainAnswers()) {
                        try streaming(body)
                    }
                }
            }
        }

        private func streaming<Result>(_ body: () throws -> Result) rethrows -> Result {
            let frame = Traffic.wire([
                Traffic.video(session: load.session, bytes: loadFrameBytes, message: 1)
            ])
            let socket = load.app
            let flood = Flood([frame], bytesPerSecond: loadBytesPerSecond) { try socket.write($0) }
            defer { flood.stop() }
            return try body()
        }
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "both ends in C; one request in flight, answered by the head unit; decode on, log as named, to",
            "/dev/null; apps.frames_per_second: 0; socat -b 131072 with nodelay; rounds in turn; beside a",
            "stream: another app sends \(loadBytesPerSecond / 1_000_000) MB/s of 16 KB video frames over the"
                + " same relayd, or over a second socat;",
            "beside a compiler: a thread on every processor computes; cost: processor time of the program",
            "in the middle, its observers included",
        ])
        var courses = [try Course(Lane.relayd(setting))]
        for log in [RelaydProcess.TrafficLog.json, .off] {
            courses.append(
                try Course(
                    Lane.relayd(setting, .init(log: log), name: "relayd, log \(log.rawValue)")))
        }
        courses += try Lane.others(setting).map { try Course($0) }
        courses.append(try Course(Lane.tunedSocat(setting), besides: Lane.tunedSocat(setting)))
        for (company, sizes) in plan {
            for bytes in sizes { try measure(courses, bytes, company, setting, &findings) }
        }
        return findings
    }

    private static func measure(
        _ courses: [Course], _ bytes: Int, _ company: Company, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let number = setting.isQuick ? 200 : bytes < 16 << 10 ? 3000 : 1000
        var rounds = courses.map { _ in [[Double]]() }
        var costs = courses.map { _ in [Double]() }
        for _ in 0..<setting.rounds {
            for (index, course) in courses.enumerated() {
                let lane = course.lane
                let request = Traffic.wire([Traffic.request(session: lane.session, bytes: bytes)])
                let response = Traffic.wire([Traffic.response(session: lane.session, bytes: bytes)])
                try PlainEnds.withHeadUnit(lane.headUnit, PlainAnswers(response: response)) {
                    _ = try PlainEnds.roundTrips(number / 10, request, over: lane.app)
                    let before = lane.child.settledProcessorTime()
                    rounds[index].append(
                        try course.with(company) {
                            try PlainEnds.roundTrips(number, request, over: lane.app)
                        })
                    let cost = lane.child.settledProcessorTime() - before
                    costs[index].append(cost / Double(number) * 1e6)
                }
            }
        }
        let subject = "\(Report.size(bytes))\(company.rawValue)"
        for (share, quantity) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")] {
            let values = rounds.map { $0.map { $0.percentile(share) } }
            for (course, values) in zip(courses, values) {
                findings.add(subject, course.name, quantity, values, "µs")
            }
            guard share < 0.999, bytes <= 1 << 10, let socat = values.last else { continue }
            // Beside a compiler, p99 shows the compiler's time slices, for every contestant.
            guard company != .compiler || share == 0.5 else { continue }
            findings.bound(
                "round trip of \(subject): \(quantity), relayd / socat",
                values[0].ratios(to: socat).median, .atMost, share == 0.5 ? 1.1 : 1, "×")
        }
        // A stream of its own passes the same relayd.
        guard company != .stream else { return }
        for (course, values) in zip(courses, costs) {
            findings.add(subject, course.name, "cost", values, "µs")
        }
    }
}
