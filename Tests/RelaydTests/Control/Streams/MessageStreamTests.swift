import Glibc
import RelayTesting
import SDLTraffic
import ServiceLifecycle
import Testing

@testable import relayd

@Suite("The stream of messages") struct MessageStreamTests {
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
            let listener = try StreamListener(test)
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
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            let answer = try await test.get("/v1/messages/stream?follow=0&\(query)")
            #expect(Self.messages(answer) == expected)
            #expect(answer.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test("a stream that is cut goes on with its cursor where it was") func resumes() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        try await ControlTestServer.with(messages: MessageHandlers(ring: feed.ring)) { test in
            let first = try StreamListener(test, "?last=2")
            let before = Self.messages(try await first.until("\"n\":10"))
            first.close()
            feed.heartbeat()
            feed.heartbeat()
            let second = try StreamListener(test, "?after=10&instance=\(feed.ring.instance)")
            defer { second.close() }
            let after = Self.messages(try await second.until("\"n\":12"))
            #expect(before + after == [9, 10, 11, 12])
        }
    }

    @Test("a quiet stream gives a sign of life with the cursor") func heartbeats() async throws {
        let handlers = MessageHandlers(ring: .story, heartbeat: .milliseconds(30))
        try await ControlTestServer.with(messages: handlers) { test in
            let listener = try StreamListener(test, "?type=request&after=9")
            defer { listener.close() }
            let answer = try await listener.until("{\"next\":10}\n")
            #expect(Self.messages(answer).isEmpty)
        }
    }

    @Test("a client that leaves a quiet stream is noticed") func leaving() async throws {
        let ring = MessageRing.story
        try await ControlTestServer.with(messages: MessageHandlers(ring: ring)) { test in
            let listener = try StreamListener(test)
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
            let listener = try StreamListener(test)
            defer { listener.close() }
            Glibc.shutdown(listener.descriptor, Int32(SHUT_WR))
            _ = try await listener.until("instance")
            feed.heartbeat()
            _ = try await listener.until("\"n\":11")
        }
    }

    @Test("a slow reader is told how many it missed, and nobody waits for it")
    func slowReader() async throws {
        // relayd drops clients that read nothing for 10 s, so nothing slow may happen in between.
        var feed = TrafficFeed()
        let total = 200
        let text = #"{"mainField1":""# + String(repeating: "x", count: 8000) + #""}"#
        for number in 1...total { feed.request(.show, Int32(number), text) }
        let ring = MessageRing(maximumBytes: 400_000)
        try await ControlTestServer.with(messages: MessageHandlers(ring: ring)) { test in
            let slow = try StreamListener(test, "?after=0")
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
        let listener = try StreamListener(test, "?last=1")
        defer { listener.close() }
        _ = try await listener.until("\"n\":10")
        feed.heartbeat()
        await group.triggerGracefulShutdown()
        try await running
        let rest = try await listener.until("0\r\n\r\n")
        #expect(Self.messages(rest) == [11])
    }
}
