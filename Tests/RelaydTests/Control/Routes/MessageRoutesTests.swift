import ControlAPI
import Foundation
import Glibc
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import ServiceLifecycle
import Testing

@testable import relayd

@Suite struct MessageRoutesTests {
    /// A ring that has seen `TrafficFeed.tellStory`.
    private static var story: MessageRing {
        var feed = TrafficFeed()
        feed.tellStory()
        return feed.ring
    }

    private func body(_ answer: String) throws -> JSONObject {
        try JSONObject(ByteBuffer(string: Self.text(answer)))
    }

    /// The body of an answer, chunks put together.
    private static func text(_ answer: String) -> String {
        let parts = answer.components(separatedBy: "\r\n\r\n")
        guard parts[0].lowercased().contains("transfer-encoding: chunked") else {
            return parts.dropFirst().joined()
        }
        let chunks = parts.dropFirst().joined(separator: "\r\n\r\n").components(separatedBy: "\r\n")
        return chunks.enumerated().filter { $0.offset % 2 == 1 }.map(\.element).joined()
    }

    private func numbers(_ object: JSONObject) -> [Int] {
        guard let list = object.array("messages") else { return [] }
        return list.elements.compactMap { list.object($0)?.integer("n") }
    }

    // MARK: Lists

    @Test("without a query the newest messages are listed, oldest first") func newest() async throws
    {
        let ring = Self.story
        try await ControlTestServer.with(messages: MessageHandlers(ring: ring)) { test in
            let answer = try await test.get("/v1/messages")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            let object = try body(answer)
            #expect(numbers(object) == Array(1...10))
            #expect(object.string("instance") == ring.instance)
            #expect(object.integer("first") == 1 && object.integer("latest") == 10)
            #expect(object.integer("next") == 10 && object.integer("missed") == 0)
            #expect(try numbers(body(await test.get("/v1/messages?limit=3"))) == [8, 9, 10])
        }
    }

    @Test("the cursor leads through everything, page by page") func pages() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            var seen: [Int] = []
            var cursor = 0
            while true {
                let page = try body(await test.get("/v1/messages?limit=3&after=\(cursor)"))
                guard !numbers(page).isEmpty else { break }
                seen += numbers(page)
                cursor = try #require(page.integer("next"))
            }
            #expect(seen == Array(1...10) && cursor == 10)
        }
    }

    @Test(
        "the query chooses, and all of it must match",
        arguments: [
            ("type=request", [1, 3, 5, 9]),
            ("type=notification&type=event", [7, 10]),
            ("type=control", [8]),
            ("type=response&failed=1", [4]),
            ("failed=1", [3, 4, 10]),
            ("priority=info&type=control", []),
            ("function=Show&type=request&type=response", [3, 4]),
            ("function=!Show&function=!PutFile&type=response", [2]),
            ("app=Music&type=request", [1, 3, 5]),
            ("app=%231&type=request", [1, 3, 5]),
            ("app=1&type=request", [1, 3, 5]),
            ("function=Show", [3, 4]),
            ("app=Maps", [9]),
            ("service=bulk", [5]),
            ("app=m-2&app=m-1&type=request", [1, 3, 5, 9]),
            ("app=maps&type=request", [9]),
            ("service=bulk&type=request", [5]),
            ("slower_than_ms=9", [6]),
            ("filter=app:MUS%20kind:request", [1, 3, 5]),
            ("filter=rpc:Show%20!ok", [3, 4]),
            ("filter=result:INVALID&type=response", [4]),
            ("filter=ms%3E1s&limit=1", [6]),
            ("filter=", Array(1...10)),
            ("since=2026-11-21T10:31:08Z", [6, 7, 8, 9, 10]),
            ("since=2026-11-21T10:31:08Z&type=response", [6]),
            ("since=2030-01-01T00:00:00Z", []),
            ("after=4&type=request", [5, 9]),
            ("after=4&instance=other&type=request", [1, 3, 5, 9]),
            ("after=400&type=request", [1, 3, 5, 9]),
        ])
    func filters(query: String, expected: [Int]) async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            let answer = try await test.get("/v1/messages?\(query)")
            #expect(try numbers(body(answer)) == expected, "\(answer)")
        }
    }

    @Test("how far back is counted from the moment of the request") func relativeTime() async throws
    {
        var feed = TrafficFeed()
        // A quarter of an hour ago.
        feed.milliseconds += (WallTime.now().nanoseconds - feed.time.nanoseconds) / 1_000_000
        feed.milliseconds -= 900_000
        feed.tellStory()
        try await ControlTestServer.with(messages: MessageHandlers(ring: feed.ring)) { test in
            let minute = try body(await test.get("/v1/messages?since=-1m"))
            let hour = try body(await test.get("/v1/messages?since=-1h"))
            #expect(numbers(minute).isEmpty && numbers(hour).count == 10)
        }
    }

    @Test("text comes with or instead of the fields, coloured when asked for")
    func formats() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            func first(_ query: String) async throws -> JSONObject {
                let list = try #require(
                    body(await test.get("/v1/messages?type=request&\(query)")).array("messages"))
                return try #require(list.elements.first.flatMap(list.object))
            }
            let text = try await first("format=text")
            #expect(text.members.count == 2)
            #expect(text.string("text")?.contains("request   RegisterAppInterface #1") == true)
            let both = try await first("format=both&color=1")
            #expect(both.string("function") == "RegisterAppInterface")
            #expect(both.string("text")?.contains("\u{1B}[34mrequest") == true)
            let summary = try await first("format=summary")
            #expect(summary.string("function") == "RegisterAppInterface")
            #expect(summary.string("summary") == both.string("summary"))
            #expect(summary.value("params") == nil && summary.value("text") == nil)
            #expect(try await first("format=json").value("text") == nil)
        }
    }

    @Test(
        "what is not understood is refused with what was found and what is expected",
        arguments: [
            ("limit=0", "limit is \"0\"; expected a whole number from 1 to 1000"),
            ("limit=x%1By", "limit is \"xy\"; expected"),
            ("after=-1", "after is \"-1\"; expected a whole number from 0 up"),
            ("failed=yes", "failed is \"yes\"; expected 1 or 0"),
            ("type=requests", "type is \"requests\"; expected one of request, response"),
            ("service=7", "service is \"7\"; expected one of control, rpc"),
            ("priority=high", "priority is \"high\"; expected one of debug, info"),
            ("function=Shw", "unknown RPC function 'Shw', expected a name"),
            ("slower_than_ms=1s", "slower_than_ms is \"1s\"; expected a whole number"),
            (
                "since=yesterday",
                "since is \"yesterday\"; expected a time like 2026-11-21T10:31:07Z"
            ),
            ("since=30s", "or a duration back like -30s"),
            ("format=xml", "format is \"xml\"; expected one of json, text, summary, both"),
            ("color=auto", "color is \"auto\"; expected 1 or 0"),
            ("last=5", "there is no \"last\" in the query"),
            (
                "filter=app:m%20rcp:x",
                "filter, character 7: there is no key 'rcp'; did you mean 'rpc'?"
            ),
            ("filter=%22x", "filter, character 1: this quote is never closed"),
            ("filter=@mine", "saved filters are known to relayctl only"),
            ("since=2026-02-31T10:00:00Z", "expected a time like 2026-11-21T10:31:07Z"),
            ("limt=5", "there is no \"limt\" in the query; known: after, instance, limit, app, "),
            ("limt=5", "filter, since, format, color; did you mean \"limit\"?"),
            ("limit=5&limit=6", "\"limit\" is given twice"),
        ])
    func refusals(query: String, message: String) async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            let answer = try await test.get("/v1/messages?\(query)")
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            let error = try APICoding.decode(APIError.self, from: Array(Self.text(answer).utf8))
                .error
            #expect(error.code == .badRequest && error.message.contains(message))
        }
    }

    @Test("a mistake in a filter comes with its place, any other without")
    func place() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            let places = [
                ("filter=app:m%20rcp:x", [6, 9]), ("filter=%F0%9F%98%80%20(ok", [2, 3]),
                ("filter=ok%20%7C", [4, 4]), ("limit=0", [nil, nil]),
            ]
            for (query, place) in places {
                let answer = try await test.get("/v1/messages?\(query)")
                let error = try APICoding.decode(
                    APIError.self, from: Array(Self.text(answer).utf8)
                ).error
                #expect([error.start, error.end] == place, "\(query)")
            }
        }
    }

    // MARK: One

    @Test("a message comes whole, with the one it belongs to and what its bulk data is")
    func whole() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            let upload = try body(await test.get("/v1/messages/5"))
            #expect(upload.object("message")?.string("function") == "PutFile")
            #expect(upload.object("bulk")?.string("kind") == "PNG 70×70")
            #expect(upload.object("bulk")?.integer("bytes") == 24)
            #expect(upload.object("response")?.integer("n") == 6)
            let answer = try body(await test.get("/v1/messages/6"))
            #expect(answer.object("request")?.integer("n") == 5)
            #expect(answer.value("bulk") == nil && answer.value("response") == nil)
            #expect(try body(await test.get("/v1/messages/10")).members.count == 3)
        }
    }

    @Test("a message that is not there is refused with what is there") func notKept() async throws {
        var feed = TrafficFeed(ring: MessageRing(maximumBytes: 3000))
        for _ in 0..<100 { feed.heartbeat() }
        let range = try #require(feed.ring.range)
        try await ControlTestServer.with(messages: MessageHandlers(ring: feed.ring)) { test in
            let old = try await test.get("/v1/messages/1")
            #expect(old.hasPrefix("HTTP/1.1 404"))
            #expect(old.contains("relayd holds \(range.lowerBound) to 100 (limits.ring is 3000)"))
            let future = try await test.get("/v1/messages/101")
            #expect(future.hasPrefix("HTTP/1.1 404") && future.contains("the latest is 100"))
            for text in ["0", "x", "-1", "1.5"] {
                let answer = try await test.get("/v1/messages/\(text)")
                #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains("expected its number"))
            }
        }
    }

    @Test("a relayd that keeps nothing says so") func off() async throws {
        let off = MessageHandlers(ring: MessageRing(maximumBytes: 0))
        try await ControlTestServer.with(messages: off) { test in
            for path in ["/v1/messages", "/v1/messages/stream", "/v1/messages/1"] {
                let answer = try await test.get(path)
                #expect(answer.hasPrefix("HTTP/1.1 404") && answer.contains("ring_off"))
                #expect(answer.contains("limits.ring is 0"))
            }
        }
    }

    // MARK: Streams

    /// A client of the stream; reads what it is told to, on a thread that starts at once: relayd lets
    /// go of who takes nothing for 10 s, and a busy machine's thread pool may be later than that.
    private struct Listener: Sendable {
        let descriptor: Int32

        init(_ test: ControlTestServer, _ query: String = "") throws {
            descriptor = try test.connect()
            test.send(
                "GET /v1/messages/stream\(query) HTTP/1.1\r\nHost: relayd\r\nConnection: close\r\n\r\n",
                to: descriptor)
        }

        /// Reads until the answer contains `text`.
        func until(_ text: String) async throws -> String {
            let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
            let descriptor = descriptor
            Thread.detachNewThread {
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 4096)
                while !String(decoding: bytes, as: UTF8.self).contains(text) {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    guard count > 0 else { return promise.fail(Silent(before: text)) }
                    bytes += buffer[..<count]
                }
                promise.succeed(String(decoding: bytes, as: UTF8.self))
            }
            return try await promise.futureResult.get()
        }

        /// The stream ended, or was silent too long.
        struct Silent: Error { let before: String }

        func close() { Glibc.close(descriptor) }
    }

    private static func messages(_ answer: String) -> [Int] {
        answer.components(separatedBy: "{\"n\":").dropFirst().compactMap {
            Int($0.prefix { $0.isNumber })
        }
    }

    private static func missed(_ answer: String) -> Int {
        answer.components(separatedBy: "{\"missed\":").dropFirst().reduce(0) {
            $0 + (Int($1.prefix { $0.isNumber }) ?? 0)
        }
    }

    @Test("a stream names the instance and then sends what happens, as it happens")
    func stream() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        try await ControlTestServer.with(messages: MessageHandlers(ring: feed.ring)) { test in
            let listener = try Listener(test)
            defer { listener.close() }
            let hello = try await listener.until("latest")
            #expect(hello.lowercased().contains("content-type: application/x-ndjson"))
            #expect(
                hello.contains(
                    "{\"instance\":\"\(feed.ring.instance)\",\"first\":1,\"latest\":10}\n"))
            feed.heartbeat()
            #expect(Self.messages(try await listener.until("\"n\":11")) == [11])
            feed.request(.show, 9)
            #expect(Self.messages(try await listener.until("\"n\":12")) == [12])
        }
    }

    @Test(
        "a stream begins where it is told to",
        arguments: [
            ("last=3", [8, 9, 10]), ("last=2&type=request", [5, 9]), ("after=7", [8, 9, 10]),
            ("after=0", Array(1...10)), ("after=7&instance=another", Array(1...10)),
            ("since=2026-11-21T10:31:08Z", [6, 7, 8, 9, 10]), ("", []), ("last=0", []),
        ])
    func beginnings(query: String, expected: [Int]) async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: Self.story)) { test in
            let answer = try await test.get("/v1/messages/stream?follow=0&\(query)")
            #expect(Self.messages(answer) == expected)
            #expect(answer.hasSuffix("0\r\n\r\n"))
        }
    }

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

    /// Numbers of messages, and "!" and the number of the message for advice.
    private static func order(_ answer: String) throws -> [String] {
        try text(answer).split(separator: "\n").compactMap { line in
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
                Self.text(answer).split(separator: "\n").first { $0.contains("\"advice\"") })
            let note = try JSONObject(ByteBuffer(string: String(line)))
            #expect(note.string("code") == "putfile_length")
            #expect(note.string("priority") == "warning" && note.string("level") == "warning")
            #expect(note.string("app") == "#1" && note.string("app_name") == "Music")
            #expect(note.integer("count") == 1 && note.integer("session") == 1)
            #expect(note.string("time") == "2026-11-21T10:31:07.500Z")
            #expect(note.string("message")?.hasPrefix("Music: ") == true)
            #expect(note.string("remedy")?.isEmpty == false)
            // Lists have messages and nothing else.
            #expect(!(try await test.get("/v1/messages?limit=100")).contains("\"advice\""))
            let events = try await test.get(
                "/v1/messages/stream?follow=0&last=2", headers: "Accept: text/event-stream\r\n")
            #expect(Self.text(events).contains("event: note\ndata: {\"app\":\"#1\""))
        }
    }

    @Test(
        "advice comes with the messages a reader wants, and with all that went wrong",
        arguments: [
            ("type=event", []), ("function=PutFile", ["!5"]), ("app=Other", []),
            ("filter=app:music%20kind:request%20rpc:PutFile", ["!5"]), ("filter=!ok", ["!5"]),
            ("failed=1", ["!5"]), ("filter=priority:error", []), ("after=4", ["!5"]),
            ("after=5", []), ("last=0", []),
        ])
    func wantedAdvice(query: String, expected: [String]) async throws {
        let (_, _, handlers) = Self.advised
        try await ControlTestServer.with(messages: handlers) { test in
            let beginning = query.hasPrefix("after") || query.hasPrefix("last") ? "" : "&after=0"
            let answer = try await test.get("/v1/messages/stream?follow=0&\(query)\(beginning)")
            #expect(try Self.order(answer).filter { $0.hasPrefix("!") } == expected)
        }
    }

    @Test("a stream that is cut goes on with its cursor where it was") func resumes() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        try await ControlTestServer.with(messages: MessageHandlers(ring: feed.ring)) { test in
            let first = try Listener(test, "?last=2")
            let before = Self.messages(try await first.until("\"n\":10"))
            first.close()
            feed.heartbeat()
            feed.heartbeat()
            let second = try Listener(test, "?after=10&instance=\(feed.ring.instance)")
            defer { second.close() }
            let after = Self.messages(try await second.until("\"n\":12"))
            #expect(before + after == [9, 10, 11, 12])
        }
    }

    @Test("a quiet stream gives a sign of life with the cursor") func heartbeats() async throws {
        let handlers = MessageHandlers(ring: Self.story, heartbeat: .milliseconds(30))
        try await ControlTestServer.with(messages: handlers) { test in
            let listener = try Listener(test, "?type=request&after=9")
            defer { listener.close() }
            let answer = try await listener.until("{\"next\":10}\n")
            #expect(Self.messages(answer).isEmpty)
        }
    }

    @Test("a client that leaves a quiet stream is noticed") func leaving() async throws {
        let ring = Self.story
        try await ControlTestServer.with(messages: MessageHandlers(ring: ring)) { test in
            let listener = try Listener(test)
            _ = try await listener.until("instance")
            while ring.readers.count == 0 { await Task.yield() }
            listener.close()
            while ring.readers.count > 0 { await Task.yield() }
        }
    }

    @Test("a client that only stops sending goes on listening") func halfClosed() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        try await ControlTestServer.with(messages: MessageHandlers(ring: feed.ring)) { test in
            let listener = try Listener(test)
            defer { listener.close() }
            Glibc.shutdown(listener.descriptor, Int32(SHUT_WR))
            _ = try await listener.until("instance")
            feed.heartbeat()
            _ = try await listener.until("\"n\":11")
        }
    }

    @Test("a slow reader is told how many it missed, and nobody waits for it")
    func slowReader() async throws {
        // relayd lets go of who takes nothing for 10 s, so nothing that takes long comes in between.
        var feed = TrafficFeed()
        let total = 200
        let text = #"{"mainField1":""# + String(repeating: "x", count: 8000) + #""}"#
        for number in 1...total { feed.request(.show, Int32(number), text) }
        let ring = MessageRing(maximumBytes: 400_000)
        try await ControlTestServer.with(messages: MessageHandlers(ring: ring)) { test in
            let slow = try Listener(test, "?after=0")
            defer { slow.close() }
            for entry in feed.entries { ring.consume([entry]) }
            let answer = try await slow.until("\"n\":\(total),")
            let seen = Self.messages(answer)
            #expect(Self.missed(answer) > 0)
            #expect(seen.count + Self.missed(answer) == total)
            #expect(seen == seen.sorted() && Set(seen).count == seen.count)
        }
    }

    @Test("at shutdown a stream sends what there is and ends properly") func shutdown() async throws
    {
        var feed = TrafficFeed()
        feed.tellStory()
        let test = try ControlTestServer()
        defer { test.cleanUp() }
        let server = try test.make(messages: MessageHandlers(ring: feed.ring))
        let group = ServiceGroup(services: [server], logger: ControlTestServer.quiet)
        async let running: Void = group.run()
        let listener = try Listener(test, "?last=1")
        defer { listener.close() }
        _ = try await listener.until("\"n\":10")
        feed.heartbeat()
        await group.triggerGracefulShutdown()
        try await running
        let rest = try await listener.until("0\r\n\r\n")
        #expect(Self.messages(rest) == [11])
    }
}
