import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayd

@Suite("Advice in the stream of messages") struct AdviceStreamTests {
    private static var advised:
        (feed: TrafficFeed, advisor: TrafficAdvisor, handlers: MessageHandlers)
    {
        var feed = TrafficFeed()
        feed.tellOfEmptyPicture()
        let advisor = TrafficAdvisor(facts: SessionFacts())
        advisor.consume(feed.entries)
        let handlers = MessageHandlers(
            ring: feed.ring, advice: { advisor.told(after: $0, through: $1) })
        return (feed, advisor, handlers)
    }

    /// The numbers of messages; for advice, "!" and the number of its message.
    private static func order(_ answer: String) throws -> [String] {
        try Answer.body(answer).split(separator: "\n").compactMap { line in
            let object = try JSONObject(ByteBuffer(string: String(line)))
            if let number = object.integer("n") { return "\(number)" }
            guard object.string("kind") == "advice" else { return nil }
            return try "!\(#require(object.integer("entry")))"
        }
    }

    @Test("advice stands behind the message it is about, without a number")
    func advice() async throws {
        let (_, advisor, handlers) = Self.advised
        #expect(advisor.told(after: 0, through: .max).map(\.code) == [.putFileLength])
        try await ControlTestServer.with(messages: handlers) { test in
            let answer = try await test.get("/v1/messages/stream?follow=0&last=100")
            #expect(try Self.order(answer) == ["1", "2", "3", "4", "5", "!5", "6"])
            let line = try #require(
                Answer.body(answer).split(separator: "\n").first { $0.contains("\"advice\"") })
            let note = try JSONObject(ByteBuffer(string: String(line)))
            #expect(note.string("code") == "putfile_length")
            #expect(note.string("priority") == "warning" && note.string("level") == "warning")
            #expect(note.string("app") == "#1" && note.string("app_name") == "Music")
            #expect(note.integer("count") == 1 && note.integer("session") == 1)
            #expect(note.string("time") == "2026-11-21T10:31:07.500Z")
            #expect(note.string("message")?.hasPrefix("Music: ") == true)
            #expect(note.string("remedy")?.isEmpty == false)
            // Lists contain only messages.
            #expect(!(try await test.get("/v1/messages?limit=100")).contains("\"advice\""))
            let events = try await test.get(
                "/v1/messages/stream?follow=0&last=2", headers: "Accept: text/event-stream\r\n")
            let cursor = "\(handlers.ring.instance)/5"
            #expect(
                Answer.body(events).contains(
                    "id: \(cursor)\nevent: note\ndata: {\"app\":\"#1\""))
        }
    }

    @Test(
        "advice comes with the messages a reader wants, and with all that went wrong",
        arguments: [
            ("type=event", []), ("function=PutFile", ["!5"]), ("app=Other", []),
            ("filter=app:music%20kind:request%20rpc:PutFile", ["!5"]), ("filter=!ok", ["!5"]),
            ("failed=1", ["!5"]), ("filter=priority:error", []), ("after=4", ["!5"]),
            ("after=5", []), ("last=0", []), ("since=2026-11-21T10:31:07Z", ["!5"]),
            ("since=2030-01-01T00:00:00Z", []),
        ])
    func wantedAdvice(query: String, expected: [String]) async throws {
        let (_, _, handlers) = Self.advised
        try await ControlTestServer.with(messages: handlers) { test in
            let beginning = query.hasPrefix("after") || query.hasPrefix("last") ? "" : "&after=0"
            let answer = try await test.get("/v1/messages/stream?follow=0&\(query)\(beginning)")
            #expect(try Self.order(answer).filter { $0.hasPrefix("!") } == expected)
        }
    }
}
