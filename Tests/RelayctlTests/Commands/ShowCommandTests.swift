import ControlAPI
import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayctl

@Suite struct ShowCommandTests {
    private func run(
        _ arguments: String..., ring: MessageRing? = nil
    ) async throws -> (code: Int32, out: String, error: String) {
        var feed = TrafficFeed()
        feed.tellStory()
        let live = try LiveServer()
        let recorder = Recorder()
        let code = try await live.serve(ring ?? feed.ring) {
            await live.execute(["show"] + arguments, output: recorder.output())
        }
        return (code, recorder.text(), recorder.text(.error))
    }

    /// The text shown for relayd's answer, with UTC as local time.
    private func text(_ json: String, style: Style = .plain) throws -> String {
        let text = MessageText(width: 80, style: style, localTime: .utc)
        let lines = try #require(text.lines(try JSONObject(ByteBuffer(string: json))))
        return lines.map { $0 + "\n" }.joined()
    }

    @Test("a request with bulk data") func request() async throws {
        let json = try await run("5", "--json").out
        #expect(
            try text(json) == """
                Message      5  request
                Time         2026-11-21 10:31:07.013
                App          Music  (app 1, app ID m-1)
                Where        session 1, service bulk, from the app
                RPC          PutFile  corr 3  (function 32)
                Answer       [6] after 1500 ms: SUCCESS
                Size         88 B in 1 frame
                Bulk data    24 B, PNG 70×70

                {
                  "syncFileName": "icon.png",
                  "fileType": "GRAPHIC_PNG"
                }

                """)
    }

    @Test("a response that failed") func failure() async throws {
        let json = try await run("4", "--json").out
        #expect(
            try text(json) == """
                Message      4  response
                Time         2026-11-21 10:31:07.013
                Priority     warning
                App          Music  (app 1, app ID m-1)
                Where        session 1, service rpc, from the head unit
                RPC          Show  corr 2  (function 13)
                Result       INVALID_DATA!  "alignment is wrong"
                Answers      [3], 5.0 ms before
                Size         95 B in 1 frame

                {
                  "success": false,
                  "resultCode": "INVALID_DATA",
                  "info": "alignment \\u001b[31mis wrong"
                }

                """)
        #expect(try text(json, style: .coloured).contains("\u{1B}[31mINVALID_DATA!\u{1B}[0m"))
    }

    @Test("what is no RPC shows what it has") func others() async throws {
        let event = try await run("10")
        #expect(event.code == 0 && event.error.isEmpty)
        #expect(event.out.contains("Message      10  event\n"))
        #expect(event.out.contains("reason       cable pulled\n"))
        let heartbeat = try await run("8")
        #expect(heartbeat.out.contains("control      Heartbeat\n"))
        let waiting = try await run("9")
        #expect(waiting.out.contains("Answer       none so far\n"))
    }

    @Test("parameters that are wrong are marked, newer fields shown by name") func problems() throws
    {
        let json = """
            {"message":{"n":1,"time":"2026-11-21T10:31:07.500Z","kind":"request",\
            "function":"Show","correlation_id":4,"novelty":{"a":1},"params":{"alignment":"MIDDLE"},\
            "problems":[{"rule":"enum","path":"alignment","message":"no such value"}]}}
            """
        #expect(
            try text(json) == """
                Message      1  request
                Time         2026-11-21 10:31:07.500
                RPC          Show  corr 4
                Answer       none so far
                novelty      {"a":1}

                {
                  "alignment": "MIDDLE"  ← no such value
                }

                """)
    }

    @Test("a message that is not kept ends with 1 and says what is") func notKept() async throws {
        let future = try await run("11")
        #expect(future.code == 1 && future.out.isEmpty)
        #expect(
            future.error == "relayctl: message 11 has not happened yet; the latest is 10\n")
        var feed = TrafficFeed(ring: MessageRing(maximumBytes: 3000))
        for _ in 0..<100 { feed.heartbeat() }
        let old = try await run("1", ring: feed.ring)
        #expect(old.code == 1 && old.error.contains("is not kept any more; relayd holds "))
    }

    @Test(
        "a relayd that keeps no messages refuses, whichever is asked for", arguments: ["1", "last"])
    func off(message: String) async throws {
        let result = try await run(message, ring: MessageRing(maximumBytes: 0))
        #expect(result.code == 3 && result.out.isEmpty)
        #expect(result.error.contains("relayd keeps no messages: limits.ring is 0"))
    }

    @Test("what is no number is refused", arguments: ["0", "x", "1.5", "lasst"])
    func noNumber(word: String) async throws {
        let result = try await run(word)
        #expect(result.code == 64 && result.out.isEmpty)
        #expect(result.error.contains("\"\(word)\"; expected its number, from 1 up, or last"))
    }

    @Test("last is the latest message, with --failed the latest one that went wrong")
    func last() async throws {
        var feed = TrafficFeed()
        feed.request(.show, 1)
        feed.response(.show, 1, #"{"success":false,"resultCode":"REJECTED"}"#)
        feed.request(.show, 2)
        feed.heartbeat()
        #expect(try await run("last", ring: feed.ring).out.contains("Message      3  request\n"))
        let failed = try await run("--failed", "last", ring: feed.ring)
        #expect(failed.out.contains("Message      2  response\n") && failed.error.isEmpty)
        let json = try await run("last", "--json", ring: feed.ring)
        #expect(json.out.contains("{\"n\":3,"))
    }

    @Test("when there is no last one, it ends with 1 and says so") func noLast() async throws {
        var feed = TrafficFeed()
        let none = try await run("last", ring: feed.ring)
        #expect(none.code == 1 && none.error == "relayctl: there are no messages yet\n")
        feed.request(.show, 1)
        let good = try await run("last", "--failed", ring: feed.ring)
        #expect(good.code == 1 && good.error == "relayctl: nothing that is kept went wrong\n")
        let wrong = try await run("7", "--failed")
        #expect(wrong.code == 64 && wrong.error.contains("--failed goes with last"))
    }

    @Test("no relayd ends with 2") func notRunning() async {
        let recorder = Recorder()
        let code = await RelayCtl.execute(
            ["show", "1", "--socket", "/nonexistent/c.sock"], output: recorder.output())
        #expect(code == 2 && recorder.text(.error).hasPrefix("relayctl: relayd is not running"))
    }
}
