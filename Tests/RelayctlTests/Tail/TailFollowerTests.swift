import ControlAPI
import Glibc
import RelayTesting
import SDLProtocol
import SDLTraffic
import Synchronization
import Testing

@testable import relayctl

@Suite struct TailFollowerTests {
    /// Collects a follower's output, and ends it after a number of lines.
    private final class Reader: Sendable {
        private let text = Mutex<(out: [String], error: [String])>(([], []))
        private let enough: Int
        /// Yields once for everything written since the last look.
        private let changes = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))

        init(endingAfter lines: Int = .max) {
            enough = lines
        }

        var out: [String] { text.withLock { $0.out } }
        var error: [String] { text.withLock { $0.error } }

        var output: Output {
            Output(
                isTerminal: false, size: { (100, 40) },
                sink: { [self] stream, page in
                    defer { changes.continuation.yield() }
                    return text.withLock { text in
                        guard stream == .standard else {
                            text.error.append(page)
                            return true
                        }
                        text.out += page.split(separator: "\n").map { "\($0)\n" }
                        return text.out.count < enough
                    }
                })
        }

        func until(_ condition: (Reader) -> Bool) async throws {
            if condition(self) { return }
            for await _ in changes.stream where condition(self) { return }
            throw CancellationError()
        }
    }

    /// Begins to follow from the last two messages. There must already be a server: a follower that has never
    /// found a server does not wait for one.
    private func follow(
        _ live: LiveServer, _ reader: Reader, as form: TailFollower.Form = .json,
        filters: MessageQuery = MessageQuery()
    ) throws -> Task<Void, any Error> {
        let client = ControlClient(
            sockets: try ControlSocket.forTool(given: live.path), timeout: FramePeer.patience)
        return Task {
            var follower = Self.follower(client, reader, form, filters)
            try await follower.run()
        }
    }

    /// Follows a relayd that ends once this many lines are shown.
    private func followToTheEnd(
        of ring: MessageRing, _ live: LiveServer, _ reader: Reader, lines: Int = 2
    ) async throws -> Task<Void, any Error> {
        try await live.serve(ring) {
            let following = try follow(live, reader)
            try await reader.until { $0.out.count == lines }
            return following
        }
    }

    private static func follower(
        _ client: ControlClient, _ reader: Reader, _ form: TailFollower.Form,
        _ filters: MessageQuery
    ) -> TailFollower {
        var beginning = MessageQuery()
        beginning.add(.last, "2")
        return TailFollower(
            client: client, output: reader.output, form: form, style: .plain,
            filters: filters, beginning: beginning,
            pause: { try await Task.sleep(for: .milliseconds(1)) })
    }

    private func numbers(_ reader: Reader) -> [Int] {
        reader.out.compactMap { Int($0.dropFirst("{\"n\":".count).prefix { $0.isNumber }) }
    }

    @Test("it goes on with what happens, until nobody reads", .timeLimit(.minutes(15)))
    func follows() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        let live = try LiveServer()
        let reader = Reader(endingAfter: 4)
        try await live.serve(feed.ring) {
            let following = try follow(live, reader)
            try await reader.until { $0.out.count == 2 }
            feed.heartbeat()
            try await reader.until { $0.out.count == 3 }
            feed.heartbeat()
            try await following.value
        }
        #expect(numbers(reader) == [9, 10, 11, 12] && reader.error.isEmpty)
    }

    @Test("a request without an answer is shown at the end", .timeLimit(.minutes(15)))
    func ends() async throws {
        var feed = TrafficFeed()
        feed.request(.show, 1)
        feed.notification(.onVehicleData)
        let live = try LiveServer()
        let reader = Reader()
        try await live.serve(feed.ring) {
            let following = try follow(live, reader, as: .pairs)
            try await reader.until { $0.out.count == 1 }
            following.cancel()
            await #expect(throws: CancellationError.self) { try await following.value }
        }
        #expect(reader.out.first?.contains("OnVehicleData") == true)
        #expect(reader.out.dropFirst().first?.contains("no answer") == true)
    }

    @Test(
        "after an interruption it misses nothing that is still kept", .timeLimit(.minutes(15)))
    func resumes() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        let live = try LiveServer()
        let reader = Reader(endingAfter: 5)
        let following = try await followToTheEnd(of: feed.ring, live, reader)
        try await reader.until { $0.error.count == 1 }
        feed.heartbeat()
        feed.heartbeat()
        try await live.serve(feed.ring) {
            try await reader.until { $0.out.count == 4 }
            feed.heartbeat()
            try await following.value
        }
        #expect(numbers(reader) == [9, 10, 11, 12, 13])
        #expect(
            reader.error == [
                "relayctl: relayd is gone; waiting for it to come back\n",
                "relayctl: relayd is back\n",
            ])
    }

    @Test(
        "advice about a message that is not shown is not told again after an interruption",
        .timeLimit(.minutes(15)))
    func toldOnce() async throws {
        var feed = TrafficFeed()
        feed.tellOfEmptyPicture()
        let ring = MessageRing()
        let advisor = TrafficAdvisor(facts: SessionFacts())
        let live = try LiveServer()
        let reader = Reader()
        var wrong = MessageQuery()
        wrong.add(.failed, "1")
        let following = try await live.serve(ring, advisor: advisor) {
            let following = try follow(live, reader, filters: wrong)
            while ring.readers.count == 0 { await Task.yield() }
            advisor.consume(feed.entries)
            ring.consume(feed.entries)
            try await reader.until { $0.out.count == 1 }
            return following
        }
        try await reader.until { $0.error.count == 1 }
        let before = feed.entries.count
        feed.request(.show, 4)
        feed.response(.show, 4, #"{"success":false,"resultCode":"REJECTED"}"#)
        ring.consume(Array(feed.entries[before...]))
        try await live.serve(ring, advisor: advisor) {
            try await reader.until { numbers($0) == [8] }
        }
        following.cancel()
        _ = await following.result
        #expect(reader.out.map { $0.contains(#""kind":"advice""#) } == [true, false])
    }

    @Test("a relayd that hangs up while it starts is waited for", .timeLimit(.minutes(15)))
    func hangsUp() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        let live = try LiveServer()
        let reader = Reader(endingAfter: 3)
        let following = try await followToTheEnd(of: feed.ring, live, reader)
        // A relayd that listens, finds that it cannot start, and ends.
        let starting = try ListeningSocket(in: live.directory)
        for _ in 0..<2 { try await blocking { try starting.hangUpOnNext() } }
        close(starting.descriptor)
        feed.heartbeat()
        try await live.serve(feed.ring) { try await following.value }
        #expect(numbers(reader) == [9, 10, 11])
    }

    @Test("what was lost meanwhile is counted", .timeLimit(.minutes(15))) func counts() async throws
    {
        var feed = TrafficFeed(ring: MessageRing(maximumBytes: 3000))
        feed.heartbeat()
        let live = try LiveServer()
        let reader = Reader()
        let following = try await followToTheEnd(of: feed.ring, live, reader, lines: 1)
        try await reader.until { $0.error.count == 1 }
        for _ in 0..<100 { feed.heartbeat() }
        let first = Int(try #require(feed.ring.range).lowerBound)
        try await live.serve(feed.ring) { try await reader.until { numbers($0).last == 101 } }
        following.cancel()
        _ = await following.result
        #expect(numbers(reader) == [1] + Array(first...101))
        #expect(
            reader.error.contains { $0.hasPrefix("relayctl: \(first - 2) messages were missed") })
    }

    @Test("a restarted relayd is told from the one before", .timeLimit(.minutes(15)))
    func restarts() async throws {
        var before = TrafficFeed()
        before.tellStory()
        let live = try LiveServer()
        let reader = Reader(endingAfter: 14)
        let following = try await followToTheEnd(of: before.ring, live, reader)
        // More messages than before the restart: only the instance shows the difference.
        var after = TrafficFeed()
        after.tellStory()
        after.heartbeat()
        after.heartbeat()
        try await live.serve(after.ring) { try await following.value }
        #expect(numbers(reader) == [9, 10] + Array(1...12))
        #expect(reader.error.last?.contains("restarted; its messages count from 1 again") == true)
    }
}
