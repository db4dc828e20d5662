import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayctl

@Suite struct TailCommandTests {
    private static var story: MessageRing {
        var feed = TrafficFeed()
        feed.tellStory()
        return feed.ring
    }

    /// Runs relayctl against a relayd with this ring.
    private func run(
        _ arguments: [String], on ring: MessageRing = story, isTerminal: Bool = false,
        isDumb: Bool = false
    ) async throws -> (code: Int32, out: String, error: String) {
        let live = try LiveServer()
        let recorder = Recorder()
        let code = try await live.serve(ring) {
            await live.execute(
                arguments, output: recorder.output(isTerminal: isTerminal, isDumb: isDumb))
        }
        return (code, recorder.text(), recorder.text(.error))
    }

    private func tail(_ arguments: String...) async throws -> [String] {
        let result = try await run(["tail", "--once"] + arguments)
        #expect(result.code == 0 && result.error.isEmpty)
        return result.out.split(separator: "\n").map(String.init)
    }

    @Test("--once ends with 2 when relayd dies in the middle of its answer; what came is shown")
    func diesMeanwhile() async throws {
        let lines = """
            {"instance":"0123456789abcdef","first":1,"latest":9}
            {"n":1,"time":"2026-11-21T10:31:07.000Z","kind":"event","event":"link_closed","line":"x"}

            """
        let server = try await StubServer(
            .answerAndClose(
                "HTTP/1.1 200 OK\r\nServer: relayd/\(Version.current)\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n"
                    + "\(String(lines.utf8.count, radix: 16))\r\n\(lines)\r\n"))
        let recorder = Recorder()
        let code = await ControlClient.$defaultTimeout.withValue(FramePeer.patience) {
            await RelayCtl.execute(
                ["tail", "--once", "--json", "--socket", server.path], output: recorder.output())
        }
        #expect(code == 2)
        #expect(recorder.text().hasPrefix(#"{"n":1,"#))
        let words =
            "closed the connection in the middle of its answer, so what was shown is not all"
        #expect(recorder.text(.error).contains(words))
        try await server.stop()
    }

    // MARK: Advice

    /// The output of `tail` for a picture without data and its answer.
    private func advised(_ arguments: [String], isTerminal: Bool = false) async throws -> [String] {
        var feed = TrafficFeed()
        feed.tellOfEmptyPicture()
        let advisor = TrafficAdvisor(facts: SessionFacts())
        advisor.consume(feed.entries)
        let live = try LiveServer()
        let recorder = Recorder()
        let code = try await live.serve(feed.ring, advisor: advisor) {
            await live.execute(
                ["tail", "--once", "-n", "2"] + arguments,
                output: recorder.output(isTerminal: isTerminal))
        }
        #expect(code == 0 && recorder.text(.error).isEmpty)
        return recorder.text().split(separator: "\n").map(String.init)
    }

    @Test("advice is a line without a number behind the message that caused it")
    func advice() async throws {
        let lines = try await advised([])
        #expect(lines.count == 3)
        #expect(lines.first?.contains(" → PutFile") == true)
        #expect(lines.last?.contains(" ✓ PutFile") == true)
        let line = try #require(lines.dropFirst().first)
        #expect(line.hasPrefix("      ") && line.contains("Music            ! "))
        #expect(line.contains(" → ") && line.hasSuffix("(putfile_length)"))
        #expect(!line.contains("Music: "), "the column says it")
    }

    @Test("in JSON it is a line of its own, with code and remedy") func adviceInJSON() async throws
    {
        let lines = try await advised(["--json"])
        #expect(lines.count == 3)
        let note = try JSONObject(ByteBuffer(string: try #require(lines.dropFirst().first)))
        #expect(note.string("kind") == "advice" && note.string("code") == "putfile_length")
        #expect(note.string("app") == "#1" && note.integer("n") == nil)
        #expect(note.string("remedy")?.isEmpty == false)
    }

    @Test("who wants none gets none", arguments: [[], ["--json"], ["-v"], ["--pairs"]])
    func noAdvice(form: [String]) async throws {
        let with = try await advised(form)
        let without = try await advised(form + ["--no-advice"])
        #expect(without.count == with.count - 1)
        #expect(!without.joined().contains("putfile_length"))
    }

    // MARK: Text

    @Test("in a pipe each message is a whole line, in columns") func text() async throws {
        // Without the time of day, which depends on the machine's time zone.
        let lines = try await tail().map { line in
            String(line.prefix(6)) + String(line.dropFirst("    1 10:31:07.000 ".count))
        }
        #expect(
            lines == [
                "    1 Music            → RegisterAppInterface corr 1       \"Music\" "
                    + "appID m-1 RPC 7.0.0                           187 B",
                "    2 Music            ✓ RegisterAppInterface corr 1       SUCCESS    "
                    + "                                            51 B   8.0 ms",
                "    3 Music            → Show corr 2                       \"Hello\"  ⚠ "
                    + "unknown value \"MIDDLE\" of alignment, expected one of LEFT_ALIGNED, "
                    + "RIGHT_ALIGNED, CENTERED       55 B",
                "    4 Music            ✗ Show corr 2                       "
                    + "INVALID_DATA  \"alignment [31mis wrong\"                 95 B   5.0 ms",
                "    5 Music            → PutFile corr 3                    \"icon.png\" "
                    + "GRAPHIC_PNG  bulk 24 B PNG 70×70            88 B",
                "    6 Music            ✓ PutFile corr 3                    SUCCESS  "
                    + "slow                                          51 B  1500 ms",
                "    7 Music            ← OnHMIStatus                       FULL "
                    + "AUDIBLE MAIN                                      86 B",
                "    9 Maps             → RegisterAppInterface corr 1       \"Maps\" "
                    + "appID m-2 RPC 7.0.0                            186 B",
                "   10 relayd           · link closed: cable pulled",
            ])
    }

    @Test("-v shows parameters under their line") func verbose() async throws {
        #expect(
            try await tail("-v", "--rpc", "Show", "--type", "request").dropFirst() == [
                "    {",
                "      \"mainField1\": \"Hello\",",
                "      \"alignment\": \"MIDDLE\"  ← unknown value \"MIDDLE\" of alignment, "
                    + "expected one of LEFT_ALIGNED, RIGHT_ALIGNED, CENTERED",
                "    }",
            ])
    }

    @Test("-v marks what relayd found wrong, where it is wrong") func marks() async throws {
        let message = """
            {"n":7,"kind":"request","params":{"alignment":"MIDDLE","softButtons":[{"type":"TEXT"}]},\
            "problems":[{"rule":"unknownValue","severity":"error","path":"alignment",\
            "message":"unknown value"},{"rule":"missing_mandatory","severity":"error",\
            "path":"softButtons[0].softButtonID","message":"mandatory parameter is missing"}],\
            "summary":"the words"}\n
            """
        let server = try await StubServer(
            StubServer.relayd("{\"instance\":\"a\"}\n" + message))
        let recorder = Recorder()
        let code = await ControlClient.$defaultTimeout.withValue(FramePeer.patience) {
            await RelayCtl.execute(
                ["tail", "-v", "--once", "--socket", server.path], output: recorder.output())
        }
        try await server.stop()
        #expect(code == 0 && recorder.text(.error).isEmpty)
        #expect(
            recorder.text() == """
                    7 relayd           · request                           the words
                    {
                      "alignment": "MIDDLE",  ← unknown value
                      "softButtons": [
                        {
                          "type": "TEXT"
                          ← mandatory parameter is missing
                        }
                      ]
                    }

                """)
    }

    @Test("colours are those of the log, on a terminal or when asked for") func colours()
        async throws
    {
        let always = try await tail("--color", "always")
        try #require(always.count == 9)
        #expect(always[0].contains("\u{1B}[34m→\u{1B}[0m RegisterAppInterface"))
        #expect(always[1].contains("\u{1B}[32m✓\u{1B}[0m"))
        #expect(always[1].contains("\u{1B}[32mSUCCESS\u{1B}[0m"))
        #expect(always[3].contains("\u{1B}[31m✗\u{1B}[0m"))
        #expect(always[3].contains("\u{1B}[1;31mINVALID_DATA\u{1B}[0m  \"alignment [31mis"))
        #expect(always[6].contains("\u{1B}[36m←"))
        #expect(try await run(["tail", "--once"], isTerminal: true).out.contains("\u{1B}[34m"))
        #expect(try await !tail().joined().contains("\u{1B}"))
        let never = try await run(["tail", "--once", "--color", "never"], isTerminal: true)
        #expect(!never.out.contains("\u{1B}"))
    }

    @Test("on a terminal no line is wider than that, in a pipe none is cut") func widths()
        async throws
    {
        let terminal = try await run(["tail", "--once", "--color", "never"], isTerminal: true)
        let lines = terminal.out.split(separator: "\n")
        #expect(lines.count == 9 && lines.allSatisfy { String($0).columns <= 100 })
        #expect(lines.contains { $0.contains("…") })
        #expect(
            try await tail().contains { $0.contains("LEFT_ALIGNED, RIGHT_ALIGNED, CENTERED  ") })
    }

    @Test("--pairs is a line for a request and its answer") func pairs() async throws {
        let lines = try await tail("--pairs").map { String($0.dropFirst(19)) }
        #expect(
            lines == [
                "Music            ✓ RegisterAppInterface corr 1       \"Music\" appID "
                    + "m-1 RPC 7.0.0 → SUCCESS                 238 B   8.0 ms",
                "Music            ✗ Show corr 2                       \"Hello\"  ⚠ "
                    + "unknown value \"MIDDLE\" of alignment, expected one of LEFT_ALIGNED, "
                    + "RIGHT_ALIGNED, CENTERED → INVALID_DATA  \"alignment [31mis wrong\"      "
                    + "150 B   5.0 ms",
                "Music            ✓ PutFile corr 3                    \"icon.png\" "
                    + "GRAPHIC_PNG  bulk 24 B PNG 70×70 → SUCCESS  slow      139 B  1500 ms",
                "Music            ← OnHMIStatus                       FULL AUDIBLE "
                    + "MAIN                                      86 B",
                "Maps             → RegisterAppInterface corr 1       \"Maps\" appID m-2 "
                    + "RPC 7.0.0 → no answer                186 B",
                "relayd           · link closed: cable pulled",
            ])
    }

    @Test("repetitions are one line on a terminal, unless that is not wanted") func folds()
        async throws
    {
        var feed = TrafficFeed()
        for rpm in 1...5 {
            feed.notification(.onVehicleData, #"{"rpm":\#(rpm)}"#)
            feed.milliseconds += 1000
        }
        let folded = try await run(["tail", "--once"], on: feed.ring, isTerminal: true).out
        // The messages may come in several pieces, each of which replaces the line before.
        var shown: [Substring] = []
        for line in folded.split(separator: "\n") {
            if line.hasPrefix("\u{1B}[A\u{1B}[2K") { _ = shown.popLast() }
            shown.append(line)
        }
        #expect(shown.count == 1, "\(folded)")
        #expect(folded.contains("OnVehicleData ×5 (1/s)") && folded.contains("rpm=5"))
        let unfolded = try await run(
            ["tail", "--once", "--no-fold"], on: feed.ring, isTerminal: true)
        #expect(unfolded.out.split(separator: "\n").count == 5)
        let dumb = try await run(
            ["tail", "--once", "--color", "never"], on: feed.ring, isTerminal: true, isDumb: true)
        #expect(dumb.out.split(separator: "\n").count == 5 && !dumb.out.contains("\u{1B}"))
        let piped = try await run(["tail", "--once"], on: feed.ring)
        #expect(piped.out.split(separator: "\n").count == 5 && !piped.out.contains("×"))
    }

    @Test("--json passes relayd's objects on, one per line") func json() async throws {
        var formatter = MessageFormatter(.json)
        let expected = Self.story.messages(after: 0, limit: 2).entries.map { entry in
            var line = ByteBuffer()
            formatter.append(entry, to: &line)
            return String(buffer: line)
        }
        #expect(try await tail("--json", "-n", "100").prefix(2) == expected[...])
    }

    // MARK: Choosing

    @Test(
        "filters choose",
        arguments: [
            (["-n", "2"], [9, 10]), (["-n", "0"], []), (["--all", "-n", "4"], [7, 8, 9, 10]),
            (["--app", "Maps"], [9]), (["--app", "2"], [9]), (["--app", "m-2"], [9]),
            (["--rpc", "putfile"], [5, 6]),
            (["--rpc", "!Show", "--rpc", "!PutFile", "--type", "request"], [1, 9]),
            (["--type", "notification"], [7]), (["--failed"], [3, 4, 10]),
            (["--slower-than", "200ms"], [6]), (["--slower-than", "0.005s"], [2, 4, 6]),
            (["--service", "bulk", "--type", "request"], [5]),
            (["--since", "2026-11-21T10:31:08Z"], [6, 7, 9, 10]),
            (["--since", "2026-11-21T10:31:08Z", "-n", "1"], [10]),
            (["--since", "2030-01-01T00:00:00Z"], []),
            (["--failed", "--app", "mus"], [3, 4]),
            (["--app", "mus", "--rpc", "sho*"], [3, 4]), (["rpc:PutFile ms>1s"], [5, 6]),
            (["app:m", "rpc:register*"], [1, 2, 9]), (["!ok", "--app", "music"], [3, 4]),
            (["--type", "response", "app:music !ok"], [4]),
            (["hello | \"cable pulled\""], [3, 10]),
            (["rpc:Show", "--rpc", "PutFile", "--type", "request"], [3, 5]),
            (["--slower-than", "1s", "--type", "request"], []),
        ])
    func filters(options: [String], expected: [Int]) async throws {
        let result = try await run(["tail", "--once", "--json"] + options)
        #expect(result.code == 0 && result.error.isEmpty)
        let found = result.out.split(separator: "\n").map {
            Int($0.dropFirst("{\"n\":".count).prefix { $0.isNumber })
        }
        #expect(found == expected)
    }

    @Test(
        "what cannot be is refused with what was expected",
        arguments: [
            (
                ["--type", "requests"],
                "--type: no kind is called 'requests'; did you mean 'request'?"
            ),
            (["--rpc", "Shw"], "--rpc: no RPC is called 'Shw'; did you mean 'Show'?"),
            (["--service", "7"], "no service is called '7'; known: control, rpc, audio"),
            (
                ["app:music rcp:On*"],
                "there is no key 'rcp'; did you mean 'rpc'?\n  app:music rcp:On*\n\(caret)\n"
            ),
            (["漢字 (ok"], "this ( is never closed\n  漢字 (ok\n       ^\n"),
            ([""], "the filter is empty; expected one such as 'app:radio !ok', or none"),
            (["@nosuch-\(UInt64.max)"], "no filter is saved as 'nosuch-"),
            (["--since", "tomorrow"], "--since is \"tomorrow\"; expected a duration back"),
            (["-f"], "-f continues and --once ends; leave out one of them"),
            (
                ["--slower-than", "200"],
                "--slower-than is \"200\"; expected a duration such as 200ms"
            ),
            (["-n", "-3"], "-n"),
            (["-n", "10000001"], "-n is 10000001; expected 0 to 10000000"),
            (
                ["--slower-than", "1s", String(repeating: "x ", count: 63)],
                "with its options and saved filters: a filter may have 64 terms, this one has more"
            ),
            (
                [String(repeating: "漢", count: 1900)],
                "the filter is too long for relayd: percent-encoded it has 17121 bytes"
            ),
            (["--json", "-v"], "--json already shows everything"),
            (["--pairs", "-v"], "--pairs is one line for two messages; leave out -v"),
            (["--pairs", "--json"], "leave out --json"),
        ])
    func refusals(options: [String], message: String) async throws {
        let result = try await run(["tail", "--once"] + options)
        #expect(result.code == 64 && result.out.isEmpty && result.error.contains(message))
        #expect(!result.error.contains("<subcommand>"), "it is about tail: \(result.error)")
    }

    @Test("a filter may have as many terms as is said") func manyTerms() async throws {
        let filter = Array(repeating: "ok", count: 64).joined(separator: " | ")
        #expect(try await !tail(filter).isEmpty)
    }

    @Test("a name nobody has is told, and what comes under it is waited for")
    func unknownApp() async throws {
        let result = try await run(["tail", "--once", "--app", "Mpas", "--app", "Music"])
        #expect(result.code == 0)
        #expect(
            result.error == "relayctl: no app is called \"Mpas\" so far; no app is connected\n")
        #expect(result.out.contains("Music"))
    }

    @Test("no relayd ends with 2, and one that keeps nothing with 3") func failures() async throws {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["tail", "--socket", "/nonexistent/c.sock"], output: recorder.output())
        #expect(code == 2 && recorder.text().isEmpty)
        #expect(recorder.text(.error).hasPrefix("relayctl: relayd is not running"))
        let off = try await run(["tail"], on: MessageRing(maximumBytes: 0))
        #expect(off.code == 3 && off.error.contains("relayd keeps no messages: limits.ring is 0"))
        let stranger = try await StubServer(.answer("SSH-2.0-OpenSSH_9\r\n"))
        let other = Recorder()
        #expect(
            await RelayCtl.execute(
                ["tail", "--socket", stranger.path], output: other.output()) == 2)
        #expect(other.text(.error).contains("is not relayd"))
        try await stranger.stop()
    }

    @Test("what came together with a line that is no JSON is still shown") func broken()
        async throws
    {
        let body = "{\"n\":1}\n{\"n\":2}\nnonsense\n"
        let server = try await StubServer(
            .answer(
                "HTTP/1.1 200 OK\r\nServer: relayd/1\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                    + body))
        let recorder = Recorder()
        #expect(
            await RelayCtl.execute(
                ["tail", "--json", "--socket", server.path], output: recorder.output()) == 2)
        #expect(recorder.text() == "{\"n\":1}\n{\"n\":2}\n")
        #expect(recorder.text(.error).contains("a line is not JSON"))
        try await server.stop()
    }
}

/// Marks the part of a filter that is not understood.
private let caret = "            ^^^"
