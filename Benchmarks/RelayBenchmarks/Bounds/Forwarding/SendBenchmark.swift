// How much longer an RPC takes when relayd is asked to send it.

import ControlAPI
import Foundation

/// Round trips of an app's own requests, and of requests sent in its place over the control API, in turn.
enum SendBenchmark: Benchmark {
    static let name = "send"
    static let summary =
        "a request sent in an app's place by the control API, against the app's own: one in flight"

    private static let bytes = 256

    /// The sender of the timed requests.
    private enum Contestant: String, CaseIterable {
        case own = "the app's own"
        case driven = "the app's own, in a session that is driven"
        case sent = "sent in the app's place"
    }

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "head unit and app in C; one request of \(bytes) B in flight, answered with as much; decode on,",
            "log as text to /dev/null; apps.frames_per_second: 0; sent: from the connection to the control",
            "socket, a new one for each, to the end of the answer; rounds in turn",
        ])
        let plain = try Lane.relayd(setting)
        let driven = try Lane.relayd(setting, .init(isDriven: true))
        guard let relayd = driven.relayd else { throw BenchmarkError("there is no relayd") }
        _ = try sends(1, driven, relayd)
        var rounds = Contestant.allCases.map { _ in [[Double]]() }
        let number = setting.isQuick ? 100 : 2000
        for _ in 0..<setting.rounds {
            for (index, contestant) in Contestant.allCases.enumerated() {
                let times =
                    switch contestant {
                    case .own: try ownRequests(number, plain)
                    case .driven: try ownRequests(number, driven)
                    case .sent: try sends(number, driven, relayd)
                    }
                rounds[index].append(times)
            }
        }
        for (share, quantity) in [(0.5, "p50"), (0.99, "p99")] {
            let values = rounds.map { $0.map { $0.percentile(share) } }
            for (contestant, values) in zip(Contestant.allCases, values) {
                findings.add("request and answer", contestant.rawValue, quantity, values, "µs")
            }
            for contestant in [Contestant.sent, .driven] {
                guard let index = Contestant.allCases.firstIndex(of: contestant) else { continue }
                let added = zip(values[index], values[0]).map { ($0 - $1) / 1000 }
                findings.bound(
                    "\(contestant.rawValue): added to the app's own, \(quantity)", added.median,
                    .atMost, 1, "ms")
            }
        }
        return findings
    }

    /// - Returns: Microseconds of each.
    private static func ownRequests(_ count: Int, _ lane: Lane) throws -> [Double] {
        let request = Traffic.wire([Traffic.request(session: lane.session, bytes: bytes)])
        return try answered(lane) {
            try PlainEnds.roundTrips(count, request, over: lane.app)
        }
    }

    /// - Returns: Microseconds of each.
    private static func sends(
        _ count: Int, _ lane: Lane, _ relayd: RelaydProcess
    ) throws -> [Double] {
        let text = String(repeating: "x", count: bytes - Traffic.overheadBytes - 20)
        let body = Array(#"{"rpc":"Show","parameters":{"mainField1":"\#(text)"}}"#.utf8)
        let path = Routes.path(Routes.send, "1")
        return try answered(lane) {
            try (0..<count).map { _ in
                let start = Clock.nanoseconds()
                let answer = try HTTP.post(path, body, to: .connect(unix: relayd.controlSocket))
                let time = Double(Clock.nanoseconds() - start) / 1000
                let report = try APICoding.decode(DriveReport.self, from: answer)
                guard report.resultCode == "SUCCESS" else {
                    throw BenchmarkError("the head unit has not done it: \(report)")
                }
                return time
            }
        }
    }

    /// Runs `body` with a head unit that answers.
    private static func answered<Result>(
        _ lane: Lane, _ body: () throws -> Result
    ) throws -> Result {
        let response = Traffic.wire([Traffic.response(session: lane.session, bytes: bytes)])
        return try PlainEnds.withHeadUnit(lane.headUnit, PlainAnswers(response: response), body)
    }
}
