import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace show") struct TraceShowTests {
    private func show(
        _ bytes: ByteBuffer, _ arguments: String..., isTerminal: Bool = false
    ) async throws -> (code: Int32, lines: [String], error: String) {
        var result: (Int32, [String], String) = (0, [], "")
        try await TraceSamples.run(
            ["trace", "show", "a.pcapng"] + arguments, on: ["a.pcapng": bytes],
            isTerminal: isTerminal
        ) { code, out, error, _ in
            result = (code, out.split(separator: "\n").map(String.init), error)
        }
        return result
    }

    /// The messages that the API would have reported live for a session.
    private static func live(_ capture: String, _ isWanted: (TrafficEntry) -> Bool) throws
        -> [String]
    {
        var formatter = MessageFormatter(.json)
        return try Capture.entries(capture).filter(isWanted).map { entry in
            var line = ByteBuffer()
            formatter.append(entry, to: &line)
            return String(buffer: line)
        }
    }

    /// Without stream and lateness messages, which are reported when their time is up: during the capture the
    /// clock was not checked. They count in the numbers as well.
    private static func timeless(_ lines: [String]) -> [String] {
        lines.filter {
            !$0.contains("\"kind\":\"stream\"") && !$0.contains("\"event\":\"unanswered")
        }
        .map { $0.replacing(#/"(n|request)":[0-9]+,?/#, with: "") }
    }

    private static func isForPeople(_ entry: TrafficEntry) -> Bool {
        if case .event(.session) = entry.content { return false }
        return true
    }

    @Test(
        "the messages are those that relayd showed live",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1", "java-zero-message-id-1"])
    func same(capture: String) async throws {
        let shown = try await show(TraceSamples.bytes(capture), "--json", "--all")
        let live = try Self.live(capture, Self.isForPeople)
        #expect(shown.code == 0 && shown.error.isEmpty)
        #expect(live.count > 10)
        #expect(Self.timeless(shown.lines) == Self.timeless(live))
    }

    @Test("heartbeats are left out, as in tail, unless --all asks for them") func heartbeats()
        async throws
    {
        let live = try Self.live("js-full-1") { Self.isForPeople($0) && $0.priority > .debug }
        let shown = try await show(TraceSamples.bytes("js-full-1"), "--json")
        #expect(Self.timeless(shown.lines) == Self.timeless(live))
    }

    @Test("a filter that asks for answers shows the request before its answer") func answers()
        async throws
    {
        let bytes = TraceSamples.bytes(TwoApps.usual().items)
        let shown = try await show(bytes, "result:REJECTED", "--json")
        let kinds = try shown.lines.map { line in
            try JSONObject(ByteBuffer(string: line)).string("kind") ?? ""
        }
        #expect(kinds == ["request", "response"])
        let all = try await show(bytes, "--failed")
        #expect(all.lines.contains { $0.contains("REJECTED") })
        let one = try await show(bytes, "rpc:RegisterAppInterface", "--pairs")
        #expect(one.lines.count == 2 && one.lines[0].contains("RegisterAppInterface"))
    }

    @Test("a mistake in a filter is pointed at, before the file is read") func mistake()
        async throws
    {
        let shown = try await show(ByteBuffer(), "rcp:Show")
        #expect(shown.code == 64 && shown.error.contains("did you mean 'rpc'?"))
        let both = try await show(ByteBuffer(), "--json", "-v")
        #expect(both.code == 64 && both.error.contains("leave out -v"))
    }

    @Test("what was recorded beside messages has lines without a number") func notes()
        async throws
    {
        let items = try Capture.items("js-full-1")
        let time = try #require(items.last?.time)
        let app = AppID(rawValue: 1)
        let early = WallTime(nanoseconds: time.nanoseconds - 1_000_000)
        let bytes = TraceSamples.bytes(
            items + [.missed(frames: 3, bytes: 30)],
            notes: [
                (.notice(code: "paced", text: "is slow", app: app), early),
                (.advice(code: "request_in_none", text: "too early → wait", app: app), early),
                (.mark(text: "here it broke"), early),
            ])
        let text = try await show(bytes)
        #expect(text.lines.contains { $0.contains("the app is slow") && $0.contains("Relay Test") })
        #expect(
            text.lines.contains { $0.contains("! too early → wait  (request_in_none)") },
            "\(text.lines.suffix(8))")
        #expect(text.lines.contains { $0.contains("mark: here it broke") })
        #expect(text.lines.contains { $0.contains("not shown: 3 frames") })
        let quiet = try await show(bytes, "--no-advice")
        #expect(!quiet.lines.contains { $0.contains("request_in_none") })
        let json = try await show(bytes, "--json", "text:broke")
        let mark = try #require(json.lines.first { $0.contains("\"mark\"") })
        let object = try JSONObject(ByteBuffer(string: mark))
        #expect(object.string("event") == "mark" && object.integer("n") == nil)
        let other = try await show(bytes, "rpc:Show", "--json")
        #expect(!other.lines.contains { $0.contains("\"mark\"") })
    }

    @Test("a recording that begins in the middle blames nobody for what came before")
    func middle() async throws {
        var encoder = TraceEncoder(TraceSamples.header())
        var rest = ByteBuffer()
        var buffer = ByteBuffer()
        var count = 0
        for item in try Capture.items("js-full-1") {
            count += 1
            if count == 20 {
                buffer.clear()
                encoder.begin(started: "", at: item.time ?? WallTime(nanoseconds: 0), into: &buffer)
            }
            encoder.append(item, at: item.time ?? WallTime(nanoseconds: 0), into: &buffer)
        }
        rest = buffer
        let shown = try await show(rest, "--json")
        #expect(shown.code == 0 && shown.lines.count > 5)
        #expect(!shown.lines.contains { $0.contains("\"unasked\"") })
        #expect(shown.lines[0].contains("link_opened") && shown.lines[1].contains("app_connected"))
    }

    @Test("the files of a ring are one recording: who is there is told once") func ring()
        async throws
    {
        let items = try Capture.items("js-full-1")
        var encoder = TraceEncoder(TraceSamples.header())
        var files = [ByteBuffer(), ByteBuffer()]
        let half = items.count / 2
        for (index, item) in items.enumerated() {
            let time = item.time ?? WallTime(nanoseconds: 0)
            let file = index < half ? 0 : 1
            if index == 0 || index == half {
                encoder.begin(started: "", at: time, into: &files[file])
            }
            encoder.append(item, at: time, into: &files[file])
            if index == half - 1 { encoder.end(because: "full", at: time, into: &files[0]) }
        }
        let live = try Self.live("js-full-1", Self.isForPeople)
        try await TraceSamples.run(
            ["trace", "show", "a-1.pcapng", "a-2.pcapng", "--json", "--all"],
            on: ["a-1.pcapng": files[0], "a-2.pcapng": files[1]]
        ) { code, out, error, _ in
            #expect(code == 0 && error.isEmpty)
            let lines = out.split(separator: "\n").map(String.init)
            #expect(Self.timeless(lines) == Self.timeless(live))
        }
    }

    @Test("an unfinished packet is told on standard error") func unfinished() async throws {
        var bytes = try TraceSamples.bytes("js-killed-1")
        bytes.moveWriterIndex(to: bytes.writerIndex - 3)
        let shown = try await show(bytes)
        #expect(shown.code == 0 && shown.error.contains("ends in the middle of a packet"))
        #expect(shown.lines.contains { $0.contains("app closed") })
    }
}
