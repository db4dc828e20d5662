// How much watchers cost the forwarding of frames.

import ControlAPI
import Foundation

/// Floods of RPCs through relayds that are watched and through one that is not, in turn.
enum WatchCostBenchmark: Benchmark {
    static let name = "watch-cost"
    static let summary =
        "forwarding of 600 B RPCs with a tail and polling, and with the dashboard, against nobody"

    /// Rounds of about a second for each requested round: the effect is smaller than the differences from
    /// one second to the next.
    private static let rounds = 5
    /// The interval of a script that asks all the time.
    private static let pollSeconds = 0.1

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "decode, validation, advice, facts, ring and text log on; apps.frames_per_second 0;",
            "tail: relayctl tail into /dev/null, and GET /v1/status and /v1/stats every 100 ms;",
            "dashboard: its stream, and what it asks each second, over TCP, besides the tail;",
            "a process and connections for each; rounds in turn; loop = event-loop thread",
        ])
        let courses = [
            try Course("unwatched", setting), try Course("tail", setting, hasTail: true),
            try Course("tail, dashboard", setting, hasTail: true, hasPage: true),
        ]
        for direction in [StreamDirection.fromApp, .fromHeadUnit] {
            try measure(courses, direction, setting, &findings)
        }
        for course in courses { try course.end() }
        return findings
    }

    private static func measure(
        _ courses: [Course], _ direction: StreamDirection, _ setting: Setting,
        _ findings: inout Findings
    ) throws {
        let floods = courses.map { FrameFlood($0.lane, direction) }
        let repetitions = setting.isQuick ? 4 : 64
        for flood in floods { _ = try flood.run(repetitions: 2) }
        var rounds = courses.map { _ in [FrameFlood.Result]() }
        for _ in 0..<(setting.isQuick ? 1 : Self.rounds * setting.rounds) {
            for (index, flood) in floods.enumerated() {
                rounds[index].append(try flood.run(repetitions: repetitions))
                courses[index].settle()
            }
        }
        let subject = floods[0].subject
        for (course, results) in zip(courses, rounds) {
            findings.add(subject, course.name, results)
        }
        let rates = rounds.map { $0.map(\.framesPerSecond) }
        for (course, watched) in zip(courses, rates).dropFirst() {
            let ratio = watched.ratios(to: rates[0]).map { $0 * 100 }
            findings.add(subject, "\(course.name) / \(courses[0].name)", "rate", ratio, "%")
            guard course.page == nil else { continue }
            findings.bound(
                "forwarding rate of \(subject), \(course.name) / \(courses[0].name)", ratio.median,
                .atLeast, 90, "%")
        }
    }

    /// A relayd with its watchers.
    private final class Course {
        let name: String
        let lane: Lane
        private let tail: MeasuredProcess?
        private let poller: Poller?
        let page: DashboardPage?

        init(
            _ name: String, _ setting: Setting, hasTail: Bool = false, hasPage: Bool = false
        ) throws {
            self.name = name
            lane = try .relayd(setting, .init(hasDashboard: hasPage))
            guard let relayd = lane.relayd else { throw BenchmarkError("a lane without relayd") }
            let socket = relayd.controlSocket
            tail =
                hasTail
                ? try MeasuredProcess(setting.relayctl, ["tail", "--socket", socket]) : nil
            poller =
                hasTail
                ? Poller([Routes.status, Routes.stats], every: pollSeconds) {
                    try .connect(unix: socket)
                } : nil
            page =
                hasPage
                ? try DashboardPage(
                    port: relayd.dashboardPort(), apps: relayd.status().apps.map(\.id)) : nil
        }

        /// Returns when the tail has read everything, so that it takes no time from the next contestant.
        func settle() {
            _ = tail?.settledProcessorTime()
        }

        /// A watcher that has stopped watching would have cost nothing.
        func end() throws {
            if let tail, !tail.isRunning { throw BenchmarkError("\(name): the tail has ended") }
            if let poller, poller.answers == 0 { throw BenchmarkError("\(name): nothing asked") }
            if let page, page.stream.lines < FrameFlood.frames {
                throw BenchmarkError("\(name): no stream")
            }
            tail?.end()
            poller?.stop()
            page?.close()
        }
    }
}
