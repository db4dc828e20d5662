import ControlAPI
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayd

@Suite struct MessageRoutesTests {
    private func numbers(_ object: JSONObject) -> [Int] {
        guard let list = object.array("messages") else { return [] }
        return list.elements.compactMap { list.object($0)?.integer("n") }
    }

    // MARK: Lists

    @Test("without a query the newest messages are listed, oldest first") func newest() async throws
    {
        let ring = MessageRing.story
        try await ControlTestServer.with(messages: MessageHandlers(ring: ring)) { test in
            let answer = try await test.get("/v1/messages")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            let object = try Answer.json(answer)
            #expect(numbers(object) == Array(1...10))
            #expect(object.string("instance") == ring.instance)
            #expect(object.integer("first") == 1 && object.integer("latest") == 10)
            #expect(object.integer("next") == 10 && object.integer("missed") == 0)
            #expect(try numbers(Answer.json(await test.get("/v1/messages?limit=3"))) == [8, 9, 10])
        }
    }

    @Test("the cursor leads through everything, page by page") func pages() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            var seen: [Int] = []
            var cursor = 0
            while true {
                let page = try Answer.json(await test.get("/v1/messages?limit=3&after=\(cursor)"))
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
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            let answer = try await test.get("/v1/messages?\(query)")
            #expect(try numbers(Answer.json(answer)) == expected, "\(answer)")
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
            let minute = try Answer.json(await test.get("/v1/messages?since=-1m"))
            let hour = try Answer.json(await test.get("/v1/messages?since=-1h"))
            #expect(numbers(minute).isEmpty && numbers(hour).count == 10)
        }
    }

    @Test("text comes with or instead of the fields, coloured when asked for")
    func formats() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            func first(_ query: String) async throws -> JSONObject {
                let list = try #require(
                    Answer.json(await test.get("/v1/messages?type=request&\(query)")).array(
                        "messages"))
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
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            let answer = try await test.get("/v1/messages?\(query)")
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            let error = try APICoding.decode(APIError.self, from: Array(Answer.body(answer).utf8))
                .error
            #expect(error.code == .badRequest && error.message.contains(message))
        }
    }

    @Test("a mistake in a filter comes with its place, any other without")
    func place() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            let places = [
                ("filter=app:m%20rcp:x", [6, 9]), ("filter=%F0%9F%98%80%20(ok", [2, 3]),
                ("filter=ok%20%7C", [4, 4]), ("limit=0", [nil, nil]),
            ]
            for (query, place) in places {
                let answer = try await test.get("/v1/messages?\(query)")
                let error = try APICoding.decode(
                    APIError.self, from: Array(Answer.body(answer).utf8)
                ).error
                #expect([error.start, error.end] == place, "\(query)")
            }
        }
    }

    // MARK: One

    @Test("a message comes whole, with the one it belongs to and what its bulk data is")
    func whole() async throws {
        try await ControlTestServer.with(messages: MessageHandlers(ring: .story)) { test in
            let upload = try Answer.json(await test.get("/v1/messages/5"))
            #expect(upload.object("message")?.string("function") == "PutFile")
            #expect(upload.object("bulk")?.string("kind") == "PNG 70×70")
            #expect(upload.object("bulk")?.integer("bytes") == 24)
            #expect(upload.object("response")?.integer("n") == 6)
            let answer = try Answer.json(await test.get("/v1/messages/6"))
            #expect(answer.object("request")?.integer("n") == 5)
            #expect(answer.value("bulk") == nil && answer.value("response") == nil)
            #expect(try Answer.json(await test.get("/v1/messages/10")).members.count == 3)
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
}
