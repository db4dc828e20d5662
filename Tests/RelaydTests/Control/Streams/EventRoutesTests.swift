import ControlAPI
import Foundation
import Glibc
import RelayCore
import RelayTesting
import Testing

@testable import relayd

@Suite struct EventRoutesTests {
    private static var ring: EventRing {
        let ring = EventRing(instance: "e")
        for number in 1...4 { ring.add(.control, "deed \(number)") }
        return ring
    }

    private func list(_ body: String) throws -> EventList {
        try APICoding.decode(EventList.self, from: Array(body.utf8))
    }

    @Test("traffic becomes events: apps that come, register and leave, links that break")
    func traffic() {
        var feed = TrafficFeed()
        feed.receive(.linkOpened(number: 1, address: "sim:", time: feed.time))
        feed.receive(.appConnected(feed.app, peer: "127.0.0.1:4711", time: feed.time))
        feed.tellStory()
        feed.receive(.missed(frames: 3, bytes: 30))
        let ring = EventRing(instance: "i")
        ring.consume(feed.entries)
        let events = ring.newest(100).events
        #expect(
            events.map(\.event)
                == [.linkOpened, .appConnected, .appRegistered, .linkClosed, .missed])
        #expect(events[1].text == "app #1 connected from 127.0.0.1:4711")
        #expect(events[2].appName == "Music" && events[2].app == 1)
        #expect(events[3].text == "the link is closed: cable pulled")
        #expect(events[4].count == 3)
    }

    @Test("the oldest make room, and a reader is told how many it missed") func eviction() {
        let ring = EventRing(instance: "i", capacity: 3)
        #expect(ring.range == nil && ring.events(after: 0, limit: 9).events.isEmpty)
        for number in 1...5 { ring.add(.control, "\(number)") }
        #expect(ring.range == 3...5)
        let late = ring.events(after: 1, limit: 2)
        #expect(late.events.map(\.n) == [3, 4] && late.missed == 1 && late.next == 4)
        let nothing = ring.events(after: 5, limit: 9)
        #expect(nothing.events.isEmpty && nothing.next == 5 && nothing.missed == 0)
        // A cursor from another run of relayd.
        #expect(ring.events(after: 99, limit: 9).events.map(\.n) == [3, 4, 5])
    }

    @Test("events are listed, newest or from a cursor on") func lists() async throws {
        try await ControlTestServer.with(events: Self.ring) { test in
            func get(_ query: String) async throws -> EventList {
                let answer = try await test.send("GET", "/v1/events?\(query)")
                return try list(answer.body)
            }
            let all = try await get("")
            #expect(all.events.map(\.n) == [1, 2, 3, 4] && all.first == 1 && all.latest == 4)
            let page = try await get("after=1&limit=2")
            #expect(page.events.map(\.n) == [2, 3] && page.next == 3 && page.missed == 0)
            let other = try await get("after=3&instance=x")
            #expect(other.events.map(\.n) == [1, 2, 3, 4])
            for query in ["app=Music", "follow=0", "limit=0", "frobnicate=1"] {
                let answer = try await test.send("GET", "/v1/events?\(query)")
                #expect(answer.status == 400)
            }
        }
    }

    @Test("what goes wrong inside relayd is 500 without details, and not the client's mistake")
    func internalError() async throws {
        struct Secret: Error {}
        let handlers = EventHandlers(ring: Self.ring, encode: { _ in throw Secret() })
        try await ControlTestServer.with(eventHandlers: handlers) { test in
            let answer = try await test.send("GET", "/v1/events")
            #expect(answer.status == 500 && !answer.body.contains("Secret"))
            let error = try APICoding.decode(APIError.self, from: Array(answer.body.utf8)).error
            #expect(error.code == .internal)
            // A client's mistake is reported all the same.
            #expect(try await test.send("GET", "/v1/events?limit=0").status == 400)
        }
    }

    @Test("the stream begins with the instance, then sends what was and what comes")
    func stream() async throws {
        let ring = Self.ring
        try await ControlTestServer.with(events: ring) { test in
            let past = Answer.body(try await test.get("/v1/events/stream?last=2&follow=0"))
                .split(separator: "\n")
            #expect(past.count == 3)
            #expect(past[0] == #"{"first":1,"instance":"e","latest":4}"#)
            #expect(past[1].contains(#""n":3"#) && past[2].contains(#""text":"deed 4""#))

            let client = try await test.connected()
            defer { close(client) }
            test.send("GET /v1/events/stream HTTP/1.1\r\nHost: relayd\r\n\r\n", to: client)
            let head = try await test.read(client, until: #""latest":4"#)
            #expect(head.contains("application/x-ndjson"))
            ring.add(.limit, "limit x was hit", code: "x", count: 1)
            let news = try await test.read(client, until: "limit x was hit")
            #expect(news.contains(#""event":"limit""#) && news.contains(#""n":5"#))
        }
    }

    @Test("browsers get server-sent events, and go on where they were") func serverSentEvents()
        async throws
    {
        let accept = "Accept: text/event-stream\r\n"
        try await ControlTestServer.with(events: Self.ring) { test in
            let answer = try await test.get("/v1/events/stream?last=1&follow=0", headers: accept)
            #expect(answer.contains("text/event-stream"))
            let blocks = Answer.body(answer).components(separatedBy: "\n\n")
            #expect(blocks[0].hasPrefix("id: e/3\nevent: note\ndata: {\"first\":1"))
            #expect(blocks[1].hasPrefix("id: e/4\ndata: {") && blocks[1].contains("deed 4"))

            let again = Answer.body(
                try await test.get(
                    "/v1/events/stream?follow=0", headers: accept + "Last-Event-ID: e/2\r\n"))
            #expect(again.contains("id: e/3\ndata: ") && !again.contains("id: e/2\ndata: "))
            let restarted = Answer.body(
                try await test.get(
                    "/v1/events/stream?follow=0", headers: accept + "Last-Event-ID: old/2\r\n"))
            #expect(restarted.contains("id: e/1\n"))

            let messages = Answer.body(
                try await test.get(
                    "/v1/messages/stream?last=2&follow=0&type=request", headers: accept))
            let message = messages.components(separatedBy: "\n\n")[1]
            #expect(message.contains("/5\ndata: {") && message.split(separator: "\n").count == 2)
        }
    }
}
