// As many apps as a link has sessions, all of them talking.

import CPlainEnds
import Foundation

/// 255 apps on one link, each with 100 RPCs a second, each answered.
enum CrowdBenchmark: Benchmark {
    static let name = "crowd"
    static let summary =
        "255 apps with 100 RPC/s each on one link: latency, and relayd's share of a processor"

    private static let apps = 255
    private static let requestsPerSecond = 100.0
    private static let requestBytes = 256

    /// A relayd with all its apps.
    private struct Course {
        let lane: Lane
        let apps: [Socket]
        private let requests: [UInt8]

        init(_ lane: Lane) throws {
            self.lane = lane
            var apps = [(app: lane.app, session: lane.session)]
            while apps.count < CrowdBenchmark.apps { apps.append(try lane.join()) }
            self.apps = apps.map(\.app)
            requests = Traffic.wire(
                apps.map { Traffic.request(session: $0.session, bytes: requestBytes) })
        }

        struct Result {
            /// Milliseconds of each request.
            var times: [Double]
            /// Shares of one processor, in per cent.
            var all: Double
            var loop: Double
        }

        func run(seconds: Double) throws -> Result {
            let capacity = Int(seconds * requestsPerSecond) * apps.count + apps.count
            var times = [Int64](repeating: 0, count: capacity)
            var taken = 0
            let answers = PlainAnswers(
                response: Traffic.wire([
                    Traffic.response(session: lane.session, bytes: requestBytes)
                ]))
            let (before, loopBefore) = (lane.child.settledProcessorTime(), try loopTime())
            try PlainEnds.withHeadUnit(lane.headUnit, answers) {
                try PlainEnds.check(
                    plain_crowd(
                        apps.map(\.descriptor), apps.count, requests, requestBytes,
                        requestsPerSecond, seconds, &times, capacity, &taken),
                    "the crowd of \(lane.name)")
            }
            let (after, loopAfter) = (lane.child.settledProcessorTime(), try loopTime())
            return Result(
                times: times.prefix(taken).map { Double($0) / 1e6 },
                all: 100 * (after - before) / seconds,
                loop: 100 * (loopAfter - loopBefore) / seconds)
        }

        private func loopTime() throws -> Double {
            guard let facts = lane.relayd?.facts else { return .nan }
            return Double(
                try facts.threads()[facts.relayLoop()]?.processorNanoseconds ?? 0) / 1e9
        }
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "both ends in C: one thread is all apps, one the head unit; requests of \(requestBytes) B, spread",
            "evenly, answers as large; times from when a request was due until its answer had come; decode",
            "on, log as named, to /dev/null; rounds in turn",
        ])
        var courses = [try Course(Lane.relayd(setting))]
        for log in [RelaydProcess.TrafficLog.json, .off] {
            courses.append(
                try Course(
                    Lane.relayd(setting, .init(log: log), name: "relayd, log \(log.rawValue)")))
        }
        courses += try Lane.others(setting).map { try Course($0) }
        let seconds = setting.isQuick ? 0.5 : 3
        for course in courses { _ = try course.run(seconds: seconds / 5) }
        var rounds = courses.map { _ in [Course.Result]() }
        for _ in 0..<setting.rounds {
            for (index, course) in courses.enumerated() {
                rounds[index].append(try course.run(seconds: seconds))
            }
        }
        let subject = "\(apps) apps"
        for (course, results) in zip(courses, rounds) {
            for (share, quantity) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")] {
                findings.add(
                    subject, course.lane.name, quantity,
                    results.map { $0.times.percentile(share) }, "ms")
            }
            findings.add(subject, course.lane.name, "all threads", results.map(\.all), "%")
            findings.add(subject, course.lane.name, "event loop", results.map(\.loop), "%")
        }
        findings.bound(
            "\(subject) with \(Int(requestsPerSecond)) RPC/s each: p99",
            rounds[0].map { $0.times.percentile(0.99) }.median, .atMost, 5, "ms")
        findings.bound(
            "\(subject) with \(Int(requestsPerSecond)) RPC/s each: of one processor",
            rounds[0].map(\.all).median, .atMost, 35, "%")
        return findings
    }
}
