import ControlAPI
import RelayTesting
import SDLTraffic
import Testing

@testable import relayd

// Values at the ends of every range and beyond, in each key of each query, in paths and in headers. An
// arithmetic overflow ends the process, so the test is that the server keeps running.

@Suite("Requests with extreme values")
struct ExtremeRequestTests {
    private static let values = [
        "", "0", "-0", "-1", "+1", "1", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "18446744073709551615", "18446744073709551616",
        "340282366920938463463374607431768211456", "1e308", "1e999", "nan", "inf", "0x10", "1_000",
        "%EF%BC%99", "%201", "1.5", "%00", "%", "%zz", "#", "%231", "%23-1",
        "%2318446744073709551615",
        // The ends of RFC 3339, and of 64 bits of nanoseconds in both directions.
        "0000-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "9999-12-31T23:59:60.999Z",
        "2262-04-11T23:47:16.854Z", "2262-04-11T23:47:16.855Z", "1677-09-21T00:12:43.145Z",
        "1677-09-21T00:12:43.146Z", "2026-02-31T00:00:00Z", "1970-01-01T00:00:00.999999999Z",
        "1970-01-01T00:00:00.9999999999999999999999Z", "-0ms", "-9223372036854775807ms",
        "-9223372036854775807s", "-9223372036854775807h", "-2562047788015h", "-2562047788016h",
        "-9223372036s", "-9223372037s", "--1s", "-1", String(repeating: "9", count: 2000),
    ]

    /// The ends of 64 bits and of time, and text that is not a number: enough for a key that is read by the
    /// same function as another.
    private static let edges = [
        "", "-0", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "18446744073709551615", "18446744073709551616", "nan", "#", "%00",
        "9999-12-31T23:59:60.999Z", "1677-09-21T00:12:43.145Z", "-9223372036854775807h",
    ]

    /// Keys whose values are numbers or times.
    private static let counting: Set<String> = [
        "after", "limit", "last", "since", "slower_than_ms",
    ]

    /// All values on the route tested in full, only the edges elsewhere.
    private static func values(of key: String, _ route: String, _ hasMessages: Bool) -> [String] {
        guard counting.contains(key) else { return ["", "0", "#"] }
        return Effort.isFull || route == Routes.messages && hasMessages ? values : edges
    }

    @Test(
        "no value of any query ends relayd; each is understood or refused",
        arguments: [true, false])
    func queries(hasMessages: Bool) async throws {
        let messages =
            hasMessages
            ? ControlTestServer.messages : MessageHandlers(ring: MessageRing(maximumBytes: 1 << 20))
        let events = EventRing(instance: "e", capacity: 4)
        for number in 0..<6 { events.add(.notice, "\(number)") }
        try await ControlTestServer.with(messages: messages, events: events) { test in
            for route in [
                Routes.messages, Routes.messageStream, Routes.events, Routes.eventStream,
            ] {
                // Without messages, only cursors and times have anything to count.
                let keys = hasMessages ? MessageQueryKey.allCases : [.after, .last, .since]
                for key in keys.map(\.rawValue) + ["nothing"] {
                    // A stream must end, unless the query is an error anyhow.
                    let end = route.hasSuffix("/stream") && key != "follow" ? "&follow=0" : ""
                    let paths = Self.values(of: key, route, hasMessages)
                        .map { "\(route)?\(key)=\($0)\(end)" }
                    for (path, answer) in zip(paths, try await test.get(each: paths)) {
                        let status = answer.dropFirst(9).prefix(3)
                        #expect(["200", "400"].contains(status), "\(path): \(answer)")
                    }
                }
            }
        }
    }

    @Test("nor does any segment of a path, or a browser's Last-Event-ID")
    func pathsAndHeaders() async throws {
        try await ControlTestServer.with { test in
            let fitting = Self.values.filter { !["", "%", "%zz"].contains($0) }
            for route in [Routes.message, Routes.app, Routes.permission, Routes.pageFile] {
                let values = route == Routes.message ? fitting : Self.edges.filter { !$0.isEmpty }
                let paths = values.map { route.replacing(#/:[a-z]+/#, with: $0) }
                for (path, answer) in zip(paths, try await test.get(each: paths)) {
                    let status = answer.dropFirst(9).prefix(3)
                    #expect(["200", "400", "404"].contains(status), "\(path)")
                }
            }
            for route in [Routes.messageStream, Routes.eventStream] {
                for instance in ["e/", "", "/", "0/"] {
                    for value in instance == "e/" ? fitting : Self.edges {
                        let answer = try await test.get(
                            route + "?follow=0", headers: "Last-Event-ID: \(instance)\(value)\r\n")
                        #expect(
                            answer.hasPrefix("HTTP/1.1 200")
                                || answer.hasPrefix("HTTP/1.1 400"), "\(value)")
                    }
                }
            }
        }
    }

    @Test("a time that nanoseconds do not reach is as good as the end of all times")
    func farTimes() async throws {
        try await ControlTestServer.with { test in
            let none = try await test.get("/v1/messages?since=9999-12-31T00:00:00Z")
            #expect(none.hasPrefix("HTTP/1.1 200") && none.contains("\"messages\":[\n]"))
            let all = try await test.get("/v1/messages?since=0000-01-01T00:00:00Z")
            #expect(all.hasPrefix("HTTP/1.1 200") && all.contains("\"n\":1"))
        }
    }
}
