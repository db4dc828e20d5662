// What happens when far more apps come than a link has sessions.

import CPlainEnds
import Foundation
import RelayTesting

/// A thousand connections at once, each asking for a session.
enum ConnectBenchmark: Benchmark {
    static let name = "connects"
    static let summary =
        "1000 apps connect at once: how many are served, refused, or fail, and when the last is served"

    private static let apps = 1000
    private static let sessions = 255

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "both ends in C; connect without waiting, StartService, then what comes within 10 s; refused: a",
            "NAK; times from the first connect; a new relayd for each run, in turn",
        ])
        try allowDescriptors()
        let programs = [(name: "relayd", path: setting.relayd)] + setting.beside
        var runs = programs.map { _ in [Run]() }
        for _ in 0..<setting.rounds {
            for (index, program) in programs.enumerated() {
                runs[index].append(try measure(program.path, setting))
            }
        }
        let subject = "\(Self.apps) connects"
        for (program, runs) in zip(programs, runs) {
            for outcome in Outcome.allCases {
                findings.add(
                    subject, program.name, outcome.rawValue,
                    runs.map { Double($0.counts[outcome] ?? 0) }, "")
            }
            findings.add(
                subject, program.name, "app \(sessions) served after", runs.map(\.served), "ms")
        }
        let own = runs[0]
        findings.bound(
            "served of \(Self.apps)", own.map { Double($0.counts[.served] ?? 0) }.min() ?? 0,
            .atLeast, Double(sessions), "")
        findings.bound(
            "neither served nor refused of \(Self.apps)", own.map(\.failed).max() ?? .nan, .atMost,
            0, "")
        findings.bound(
            "app \(sessions) of \(Self.apps) served after", own.map(\.served).median, .atMost, 100,
            "ms")
        return findings
    }

    private enum Outcome: String, CaseIterable {
        case served
        case refused
        case closed = "closed without a word"
        case reset
        case silence
    }

    private struct Run {
        var counts: [Outcome: Int]
        /// Milliseconds until the last session was granted.
        var served: Double

        var failed: Double {
            Double(counts.filter { $0.key != .served && $0.key != .refused }.values.reduce(0, +))
        }
    }

    private static func measure(_ program: String, _ setting: Setting) throws -> Run {
        let (headUnit, relayd) = try Lane.unregistered(setting, .init(program: program))
        let answers = PlainAnswers(
            grant: Traffic.wire([.startServiceACK(session: 0, hashID: 5)]),
            refusal: Traffic.wire([.startServiceNAK()]), sessions: sessions)
        let start = Traffic.wire([.startService()])
        let port = try relayd.port()
        var served = [Int64](repeating: 0, count: apps)
        var result = plain_connects()
        try PlainEnds.withHeadUnit(headUnit, answers) {
            try PlainEnds.check(
                served.withUnsafeMutableBufferPointer { served in
                    result.served_after = served.baseAddress
                    return plain_connect_all(port, apps, start, start.count, 10, &result)
                }, "\(apps) connects")
        }
        let counts: [Outcome: Int] = [
            .served: result.served, .refused: result.refused, .closed: result.closed,
            .reset: result.reset, .silence: result.silent,
        ]
        let last = result.served >= sessions ? Double(served[sessions - 1]) / 1e6 : .infinity
        return Run(counts: counts, served: last)
    }

    /// Allows enough descriptors here for both ends; relayd has a limit of its own.
    private static func allowDescriptors() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < 4096 else { return }
        limit.rlim_cur = min(limit.rlim_max, 4096)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw BenchmarkError.system("setrlimit")
        }
    }
}
