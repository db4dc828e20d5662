// What an app hears last, over real TCP, while bytes are under way in both directions.
//
// A socket that is closed with unread bytes, or gets some later, resets its connection, and the kernel
// throws away what it still has to send. So the app of these tests has little room for unread bytes: most of
// them are still with relayd when relayd closes.

import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("An app hears why it is closed", .serialized)
struct LastWordsTests {
    /// The number of 1000-byte frames that the head unit has sent and the app has not read: many times
    /// what the app's kernel keeps, and less than relayd's takes at once.
    private static let unread = 300

    private static func run(
        _ change: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (RelayBench) async throws -> Void
    ) async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
            // Long enough for any machine: the tests are about relayd waiting.
            $0.lingerPatience = .minutes(2)
            change(&$0)
        } _: {
            try await body($0)
        }
    }

    /// An app that has not read what the head unit sent.
    private func appThatDoesNotRead(_ bench: RelayBench, on headUnit: FramePeer) async throws
        -> FramePeer
    {
        let app = try await FramePeer.connect(port: bench.port, receiveBuffer: 16_384)
        try await app.send(.startService())
        try await headUnit.grant(session: 1)
        _ = try await app.next()
        try await app.channel.setOption(.autoRead, value: false).get()
        for _ in 0..<Self.unread { try await headUnit.send(.data(session: 1, bytes: 1000)) }
        try await bench.until { $0.apps.first?.counters.framesOut == UInt64(Self.unread) + 1 }
        return app
    }

    /// An app that has also written more than relayd has read, because the link stands still.
    private func busyApp(_ bench: RelayBench, on headUnit: FramePeer) async throws -> FramePeer {
        let app = try await appThatDoesNotRead(bench, on: headUnit)
        try await headUnit.channel.setOption(.autoRead, value: false).get()
        let bytes = ByteBuffer(repeating: 0x5A, count: 60_000)
        // More than all buffers on the way take.
        for message in 1...600 as ClosedRange<UInt32> {
            let frame = Frame(
                version: 5, type: .single, service: .bulk, sessionID: 1, messageID: message,
                payload: bytes)
            app.channel.writeAndFlush(frame.wire, promise: nil)
        }
        try await bench.until { $0.apps.first?.isPaused == true }
        return app
    }

    /// Makes the app read again, beginning with the unread frames.
    private func skipUnread(_ app: FramePeer) async throws {
        // Fails if the connection was reset; then there is nothing to read, either.
        try? await app.channel.setOption(.autoRead, value: true).get()
        for _ in 0..<Self.unread { _ = try await app.next() }
    }

    @Test("sent away, with unread bytes in both directions", .timeLimit(.minutes(15)))
    func sentAway() async throws {
        try await Self.run { bench in
            let app = try await busyApp(bench, on: try await bench.openLink())
            let ended = try await bench.relay.disconnect(
                AppID(rawValue: 1), because: .byOperator(nil))
            #expect(ended)
            // For the hub it is gone at once.
            #expect(try await bench.relay.snapshot().apps.isEmpty)
            try await skipUnread(app)
            let last = try await app.next()
            #expect(last.controlType == .endService && last.sessionID == 1)
            try await app.closed()
        }
    }

    @Test("the link is lost: all that the head unit said, and an end", .timeLimit(.minutes(15)))
    func linkLost() async throws {
        try await Self.run { bench in
            let headUnit = try await bench.openLink()
            let app = try await busyApp(bench, on: headUnit)
            try await headUnit.reset()
            try await bench.until { $0.apps.isEmpty }
            try await skipUnread(app)
            try await app.closed()
        }
    }

    @Test("relayd stops: it waits until the app has read the end of its session")
    func shutDown() async throws {
        try await Self.run {
            $0.farewellTimeout = .minutes(2)
        } _: { bench in
            let headUnit = try await bench.openLink()
            let app = try await busyApp(bench, on: headUnit)
            let relay = bench.relay
            let stopping = Task { await relay.shutDown() }
            try await bench.until { $0.apps.isEmpty }
            try await skipUnread(app)
            let last = try await app.next()
            #expect(last.controlType == .endService)
            try await app.closed()
            // The head unit has no more to say either.
            await headUnit.close()
            await stopping.value
        }
    }

    @Test("an app that never hangs up does not hold a stop for longer than it may take")
    func neverHangsUp() async throws {
        try await Self.run {
            $0.farewellTimeout = .milliseconds(200)
        } _: { bench in
            let app = try await bench.connectApp(readsByItself: false)
            try await app.channel.setOption(.allowRemoteHalfClosure, value: true).get()
            try await bench.until { $0.apps.count == 1 }
            let start = NIODeadline.now()
            await bench.relay.shutDown()
            let took = NIODeadline.now() - start
            #expect(took >= .milliseconds(200), "it waits for the app")
            // A stop does not wait for the app's own patience: it has a limit of its own.
            #expect(app.channel.isActive)
            #expect(try await bench.relay.snapshot().apps.isEmpty)
            var closed: [AppID] = []
            while let batch = await bench.relay.tapQueue.nextBatch() {
                for case .appClosed(let id, _, _) in batch { closed.append(id) }
            }
            #expect(closed == [AppID(rawValue: 1)], "its end is told")
            await app.close()
        }
    }

    @Test("nor its connection for longer than its patience", .timeLimit(.minutes(15)))
    func patience() async throws {
        try await Self.run {
            $0.lingerPatience = .milliseconds(50)
        } _: { bench in
            let app = try await bench.connectApp(readsByItself: false)
            try await app.channel.setOption(.allowRemoteHalfClosure, value: true).get()
            try await bench.until { $0.apps.count == 1 }
            _ = try await bench.relay.disconnect(AppID(rawValue: 1), because: .byOperator(nil))
            // Nobody reads this any more, and a closed socket answers it with a reset.
            while app.channel.isActive { try? await app.send(.rpc(session: 1)) }
        }
    }

    @Test(
        "an app that goes on sending after it was closed still hears all, and costs its socket only"
    )
    func goesOnSending() async throws {
        try await Self.run { bench in
            let headUnit = try await bench.openLink()
            let app = try await appThatDoesNotRead(bench, on: headUnit)
            try await app.send(bytes: ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
            try await bench.until { $0.apps.isEmpty }
            let before = try await bench.relay.snapshot().link.counters.framesOut
            // The app's next frames are thrown away, even valid ones.
            try await app.send(.rpc(session: 1))
            try await skipUnread(app)
            try await app.closed()
            let after = try await bench.relay.snapshot().link.counters.framesOut
            #expect(after == before)
        }
    }
}
