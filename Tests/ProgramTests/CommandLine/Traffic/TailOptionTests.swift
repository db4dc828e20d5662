// Every option of the built relayctl tail, on the messages of a built relayd: each shows exactly what
// its description says.

import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl tail's options against the built relayd", .serialized)
struct TailOptionTests {
    /// One message of `tail --json`.
    private struct Message: Decodable {
        var n: Int
        var time: String
        var kind: String
        var priority: String
        var app: String?
        var appName: String?
        var service: String?
        var event: String?
        var function: String?
        var resultCode: String?
        var latencyMilliseconds: Double?
        /// For a response, the number of its request.
        var request: Int?
        var level: String
        var message: String

        enum CodingKeys: String, CodingKey {
            case n, time, kind, priority, app, service, event, function, request, level, message
            case appName = "app_name"
            case resultCode = "result_code"
            case latencyMilliseconds = "latency_ms"
        }

        var isBad: Bool { priority == "warning" || priority == "error" }
    }

    /// Runs the sample app, then an app that does much wrong, until both have left.
    private func story(_ relayd: Relayd) async throws {
        let sample = try await Program.relayctl.run([
            "sample-app", "--connect", "127.0.0.1:\(relayd.port)", "--name", "Sample",
        ])
        #expect(sample.ending == .exited(0))
        let app = try await relayd.connectApp()
        let session = try await app.startSession().sessionID
        try await app.register("Wrong", session: session)
        for (id, function, json) in [
            (7, .putFile, #"{"syncFileName":"a"}"#),
            (8, .performInteraction, #"{"initialText":"?","interactionMode":"BOTH"}"#),
            (9, .show, #"{"mainField1":"Hi","alignment":"MIDDLE"}"#),
        ] as [(Int32, FunctionID, String)] {
            try await app.send(
                .rpc(session: session, .request, function, correlation: id, json: json))
        }
        try await relayd.process.output.first(containing: "response  Show #9")
        await app.close()
    }

    /// All messages, once both apps' ends are kept, and the first answer to relayd's goodbye for the
    /// second app. Only more such answers may follow, which are not shown without --all.
    private func everything(_ relayd: Relayd) async throws -> [Message] {
        // The log is written last: what is in it is kept already.
        try await relayd.process.output.wait(for: "two apps' ends") { lines in
            lines.count { $0.contains("app closed: ") } == 2 ? () : nil
        }
        let deadline = NIODeadline.now() + FramePeer.patience
        var all: [Message] = []
        while !all.contains(where: { $0.priority == "debug" }), NIODeadline.now() < deadline {
            all = try await messages(relayd, ["--all", "-n", "100000"])
        }
        return all
    }

    private func tail(_ relayd: Relayd, _ options: [String]) async throws -> [String] {
        let result = try await Program.relayctl.run(
            ["tail", "--once", "--no-advice", "--socket", relayd.controlSocket] + options)
        #expect(
            result.ending == .exited(0) && result.errors.isEmpty, "\(options): \(result.errors)")
        return result.output.split(separator: "\n").map(String.init)
    }

    private func messages(_ relayd: Relayd, _ options: [String]) async throws -> [Message] {
        try await tail(relayd, options + ["--json"]).map {
            try JSONDecoder().decode(Message.self, from: Data($0.utf8))
        }
    }

    @Test("every filter shows what it says, and every form all of it")
    func options() async throws {
        // A head unit that answers wrong requests, too, and at once.
        try await Relayd.run(accessory: "sim:?lenient=on") { relayd in
            try await story(relayd)
            let all = try await everything(relayd)
            #expect(all.map(\.n) == Array(1...all.count))
            try await filters(relayd, all)
            try await forms(relayd)
        }
    }

    private func filters(_ relayd: Relayd, _ all: [Message]) async throws {
        let middle = all[all.count / 2].time
        #expect(all.allSatisfy { $0.level == $0.priority && !$0.message.isEmpty })
        // An exchange is shown whole: the request and its answer.
        var wentWrong = Set(all.filter(\.isBad).map(\.n))
        for answer in all {
            guard let request = answer.request else { continue }
            if !wentWrong.isDisjoint(with: [answer.n, request]) {
                wentWrong.formUnion([answer.n, request])
            }
        }
        let filters: [(options: [String], accepts: (Message) -> Bool)] = [
            (["--app", "Sample"], { $0.appName == "Sample" }),
            (["--app", "wrong-id"], { $0.appName == "Wrong" }),
            (["--app", "#1"], { $0.app == "#1" }),
            (["--app", "1"], { $0.app == "#1" }),
            (["--rpc", "PutFile"], { $0.function == "PutFile" }),
            (
                ["--rpc", "show", "--rpc", "Alert"],
                { ["Show", "Alert"].contains($0.function) }
            ),
            (
                ["--rpc", "!Show", "--type", "request"],
                { $0.function != "Show" && $0.kind == "request" }
            ),
            (
                ["--type", "notification", "--type", "event"],
                { ["notification", "event"].contains($0.kind) }
            ),
            (["--service", "bulk"], { $0.service == "bulk" }),
            (["--failed"], { wentWrong.contains($0.n) }),
            (["--slower-than", "2s"], { $0.latencyMilliseconds ?? 0 >= 2000 }),
            (["--since", middle], { $0.time >= middle }),
            (
                ["--app", "Wrong", "--failed", "--type", "response"],
                { $0.appName == "Wrong" && wentWrong.contains($0.n) && $0.kind == "response" }
            ),
        ]
        for (options, accepts) in filters {
            // A request that is shown for its answer comes right before that.
            let found = try await messages(relayd, options + ["--all", "-n", "100000"]).map(\.n)
                .filter { $0 <= all.count }.sorted()
            #expect(found == all.filter(accepts).map(\.n), "\(options) \(all.suffix(8))")
            #expect(!found.isEmpty && found.count < all.count, "\(options)")
        }
        // The simulated head unit shows an alert for its three seconds.
        let slow = try await messages(relayd, ["--slower-than", "2s", "-n", "1000"])
        #expect(slow.contains { $0.function == "Alert" })
        let failed = try await messages(relayd, ["--failed", "-n", "1000"])
        #expect(failed.contains { $0.resultCode == "INVALID_DATA" })
        let usual = all.filter { $0.priority != "debug" }.map(\.n)
        #expect(usual.count < all.count)
        #expect(try await messages(relayd, []).map(\.n) == usual.suffix(10))
        #expect(try await messages(relayd, ["-n", "3"]).map(\.n) == usual.suffix(3))
        #expect(try await messages(relayd, ["--since", "1h"]).map(\.n) == usual)
        #expect(try await messages(relayd, ["--since", "2100-01-01T00:00:00Z"]).isEmpty)
    }

    private func forms(_ relayd: Relayd) async throws {
        let wrong = ["--app", "Wrong", "-n", "1000"]
        let verbose = try await tail(
            relayd, wrong + ["-v", "--rpc", "Show", "--type", "request"]
        ).joined(separator: "\n")
        #expect(verbose.contains("\n      \"mainField1\": \"Hi\","))
        #expect(
            verbose.contains("\"alignment\": \"MIDDLE\"  ← unknown value \"MIDDLE\" of alignment"))

        let coloured = try await tail(relayd, wrong + ["--color", "always"]).joined(separator: "\n")
        for words in [
            "\u{1B}[34m→", "\u{1B}[32m✓", "\u{1B}[32mSUCCESS\u{1B}[0m", "\u{1B}[36m←",
            "\u{1B}[33m✗", "\u{1B}[33mTIMED_OUT\u{1B}[0m", "\u{1B}[31m✗",
            "\u{1B}[1;31mINVALID_DATA\u{1B}[0m",
        ] {
            #expect(coloured.contains(words), "\(words.dropFirst())")
        }
        let plain = try await tail(relayd, wrong)
        #expect(!plain.joined().contains("\u{1B}"))

        let failed = try #require(
            try await tail(relayd, wrong + ["--failed", "--type", "response"]).first)
        let number = try #require(failed.split(separator: " ").first)
        let show = try await relayd.relayctl("show", String(number))
        #expect(show.ending == .exited(0))
        #expect(show.output.contains("PutFile  corr 7  (function 32)"))
        #expect(show.output.contains("INVALID_DATA!"))

        let pairs = try await tail(relayd, wrong + ["--pairs"])
        #expect(pairs.count < plain.count)
        #expect(
            pairs.contains {
                $0.contains("✗ PutFile corr 7") && $0.contains(" → INVALID_DATA")
            })
        // Into a pipe nothing is folded.
        #expect(try await tail(relayd, wrong + ["--no-fold"]) == plain)
        let refused = try await relayd.relayctl("tail", "--rpc", "Shw")
        #expect(refused.ending == .exited(64) && refused.errors.contains("did you mean 'Show'?"))
    }
}
