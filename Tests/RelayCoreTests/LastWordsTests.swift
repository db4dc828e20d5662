// What an app hears last, over real TCP, while bytes are under way in both directions.

import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("An app hears why it is closed", .serialized)
struct LastWordsTests {
    /// An app that has written more than relayd has read, because the link stands still, and
    /// has not read what the head unit sent.
    private func busyApp(
        _ bench: RelayBench, on headUnit: FramePeer
    ) async throws -> (app: FramePeer, unread: Int) {
        let app = try await bench.openSession(1, on: headUnit)
        try await headUnit.channel.setOption(.autoRead, value: false).get()
        try await app.channel.setOption(.autoRead, value: false).get()
        let notice = Frame.data(session: 1, bytes: 1000)
        for _ in 0..<50 { try await headUnit.send(notice) }
        let bytes = ByteBuffer(repeating: 0x5A, count: 60_000)
        // More than all buffers on the way take.
        for message in 1...600 as ClosedRange<UInt32> {
            let frame = Frame(
                version: 5, type: .single, service: .bulk, sessionID: 1, messageID: message,
                payload: bytes)
            app.channel.writeAndFlush(frame.wire, promise: nil)
        }
        try await bench.until { $0.apps.first?.isPaused == true }
        try await bench.until { $0.apps.first?.counters.framesOut == 51 }
        return (app, 50)
    }

    /// What the app reads last. Its channel reads by itself when the end comes, and only then.
    private func heard(by app: FramePeer, skipping unread: Int) async throws -> Frame {
        for _ in 0..<unread { _ = try await app.next() }
        let last = try await app.next()
        try await app.closed()
        return last
    }

    @Test("sent away, with unread bytes in both directions", .timeLimit(.minutes(5)))
    func sentAway() async throws {
        for _ in 0..<3 {
            try await RelayBench.run {
                $0.framesPerSecond = 0
            } _: { bench in
                let headUnit = try await bench.openLink()
                let (app, unread) = try await busyApp(bench, on: headUnit)
                let ended = try await bench.relay.disconnect(
                    AppID(rawValue: 1), because: .byOperator(nil))
                #expect(ended)
                // For the hub it is gone at once.
                #expect(try await bench.relay.snapshot().apps.isEmpty)
                let last = try await heard(by: app, skipping: unread)
                #expect(last.controlType == .endService && last.sessionID == 1)
            }
        }
    }

    @Test("the link is lost: whole frames and an end, no reset", .timeLimit(.minutes(5)))
    func linkLost() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
        } _: { bench in
            let headUnit = try await bench.openLink()
            let (app, unread) = try await busyApp(bench, on: headUnit)
            try await headUnit.reset()
            try await bench.until { $0.apps.isEmpty }
            for _ in 0..<unread { _ = try await app.next() }
            try await app.closed()
        }
    }

    @Test("relayd stops: it waits until the app has read the end of its session")
    func shutDown() async throws {
        try await RelayBench.run {
            $0.framesPerSecond = 0
            $0.farewellTimeout = .seconds(20)
        } _: { bench in
            let headUnit = try await bench.openLink()
            let (app, unread) = try await busyApp(bench, on: headUnit)
            let relay = bench.relay
            let stopping = Task { await relay.shutDown() }
            try await bench.until { $0.apps.isEmpty }
            let last = try await heard(by: app, skipping: unread)
            #expect(last.controlType == .endService)
            // The head unit has no more to say either.
            await headUnit.close()
            await stopping.value
        }
    }

    @Test("an app that never hangs up is closed after a while, and does not hold a stop for longer")
    func neverHangsUp() async throws {
        try await RelayBench.run {
            $0.farewellTimeout = .milliseconds(200)
        } _: { bench in
            let app = try await bench.connectApp(readsByItself: false)
            try await app.channel.setOption(.allowRemoteHalfClosure, value: true).get()
            try await bench.until { $0.apps.count == 1 }
            let start = NIODeadline.now()
            await bench.relay.shutDown()
            let took = NIODeadline.now() - start
            #expect(took >= .milliseconds(200), "it waits for the app")
            // Not two sockets' patience: a stop is bounded by its own limit.
            #expect(app.channel.isActive)
            await app.close()
        }
    }

    @Test("an app that goes on sending after it was closed costs its socket and nothing else")
    func goesOnSending() async throws {
        try await RelayBench.run { bench in
            let headUnit = try await bench.openLink()
            let app = try await bench.openSession(1, on: headUnit)
            try await app.send(bytes: ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
            try await bench.until { $0.apps.isEmpty }
            let before = try await bench.relay.snapshot().link.counters.framesOut
            // Its next words are thrown away, also good ones.
            app.channel.writeAndFlush(Frame.rpc(session: 1).wire, promise: nil)
            try await app.closed()
            let after = try await bench.relay.snapshot().link.counters.framesOut
            #expect(after == before)
        }
    }
}
