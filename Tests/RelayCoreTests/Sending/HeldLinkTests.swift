// A link that waits for a slow app in the middle of a message, and when it goes on.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A link held by flow control loses nothing")
struct HeldLinkTests {
    /// An app that takes nothing, a head unit that stopped in the middle of a frame because of it.
    private struct Bench {
        let hub: EmbeddedHub
        let app: EmbeddedChannel
        let frame = Frame.data(session: 1, bytes: 1000)
        let half: ByteBuffer
        let rest: ByteBuffer

        init(_ change: (inout RelayConfiguration) -> Void) throws {
            hub = try EmbeddedHub(change)
            app = try hub.app(session: 1)
            half = frame.wire.getSlice(at: 0, length: 600) ?? ByteBuffer()
            rest = frame.wire.getSlice(at: 600, length: frame.wire.readableBytes - 600) ?? half
            app.isWritable = false
            var read = Frame.rpc(session: 1, .notification).wire
            read.writeImmutableBuffer(half)
            try hub.link.writeInbound(read)
            hub.link.read()
        }

        /// Makes the app read again, and returns what it hears.
        func goesOn() throws -> [Frame] {
            app.isWritable = true
            app.pipeline.fireChannelWritabilityChanged()
            var heard: [Frame] = []
            while let frame = try app.hears() { heard.append(frame) }
            return heard
        }
    }

    @Test(
        "a breakpoint of a minute in the only app, with when_slow: hold, costs no byte of the frame"
    )
    func breakpoint() throws {
        let bench = try Bench { $0.whenSlow = .hold }
        let before = bench.hub.linkReads.count
        bench.hub.loop.advanceTime(by: .minutes(1))
        #expect(bench.hub.linkReads.count == before, "the link is held")
        #expect(try bench.goesOn().count == 1)
        #expect(bench.hub.linkReads.count == before + 1)
        try bench.hub.link.writeInbound(bench.rest)
        #expect(try bench.goesOn() == [bench.frame])
        #expect(bench.hub.switchboard.sdl.garbageBytes == 0)
        let notices = bench.hub.notices()
        #expect(notices.isEmpty, "nobody says that the head unit stopped")
    }

    @Test("the time it was held does not count, the time after it does")
    func timeAfter() throws {
        let bench = try Bench { $0.whenSlow = .hold }
        bench.hub.loop.advanceTime(by: .seconds(9))
        _ = try bench.goesOn()
        bench.hub.loop.advanceTime(by: .seconds(9))
        let none = bench.hub.notices()
        #expect(none.isEmpty, "18 s, of which 9 s held")
        bench.hub.loop.advanceTime(by: .seconds(1))
        let first = bench.hub.notices().first
        #expect(first == .stoppedSending(bytes: 600, seconds: 10))
    }

    @Test("a frame that stopped before the link was held is not late when the hold is over")
    func heldLater() throws {
        let hub = try EmbeddedHub { $0.whenSlow = .hold }
        let app = try hub.app(session: 1)
        let frame = Frame.data(session: 1, bytes: 1000)
        let half = frame.wire.getSlice(at: 0, length: 600) ?? ByteBuffer()
        try hub.link.writeInbound(half)
        hub.loop.advanceTime(by: .seconds(9))
        // The app does not take a frame of relayd's own.
        app.isWritable = false
        for _ in 0...hub.switchboard.configuration.maximumPendingStartsPerApp + 1 {
            try app.says(.startService())
        }
        #expect(hub.switchboard.isLinkHeld)
        hub.link.read()
        hub.loop.advanceTime(by: .seconds(9))
        let notices = hub.notices().filter { $0 != .stoppedReading(queuedBytes: 0, seconds: nil) }
        #expect(notices.isEmpty)
        #expect(hub.switchboard.sdl.garbageBytes == 0)
    }

    @Test("in the default mode: a lone app that drains slowly for a minute, seen every 1.5 s")
    func slowLoneApp() throws {
        let bench = try Bench { $0.whenSlow = .drop }
        let flow = bench.hub.switchboard
        // On paper, because an embedded channel takes everything at once: its queue falls, the hold goes on.
        for _ in 0..<40 {
            bench.app.pipeline.fireChannelWritabilityChanged()
            bench.hub.loop.advanceTime(by: .milliseconds(1500))
            if !flow.isLinkHeld { break }
        }
        _ = try bench.goesOn()
        try bench.hub.link.writeInbound(bench.rest)
        #expect(try bench.goesOn() == [bench.frame])
        #expect(bench.hub.switchboard.sdl.garbageBytes == 0)
    }

    @Test("an app's pause does not count as its silence either")
    func pausedApp() throws {
        let hub = try EmbeddedHub { $0.linkQueueBytes = 1000 }
        let app = try hub.app(session: 1)
        hub.link.isWritable = false
        var bytes = Frame.data(session: 1, bytes: 2000).wire
        bytes.writeBytes([0x51, 0x07, 0x00])
        try app.writeInbound(bytes)
        #expect(hub.switchboard.apps.values.first?.isPaused == true)
        hub.loop.advanceTime(by: .seconds(9))
        hub.link.isWritable = true
        hub.link.pipeline.fireChannelWritabilityChanged()
        hub.loop.advanceTime(by: .seconds(9))
        #expect(hub.switchboard.apps.values.first?.lastProblem == nil)
        hub.loop.advanceTime(by: .seconds(1))
        #expect(hub.switchboard.apps.values.first?.lastProblem != nil)
    }

    @Test("an app whose own words block it between two looks leaves the link read")
    func lostWakeUp() throws {
        let hub = try EmbeddedHub { $0.whenSlow = .drop }
        let other = try hub.app(session: 2)
        let stuck = try hub.app(session: 1)
        stuck.isWritable = false
        let before = hub.linkReads.count
        try hub.link.says(.rpc(session: 1, .notification))
        hub.link.read()
        #expect(hub.linkReads.count == before && hub.switchboard.isLinkHeld)
        // The grace is over, and before the next look the app provokes frames of relayd.
        hub.switchboard.afterTheGrace { try? stuck.says(.startService()) }
        #expect(!hub.switchboard.isLinkHeld)
        #expect(hub.linkReads.count == before + 1, "read again at once")
        try hub.link.says(.rpc(session: 2, .notification))
        #expect(try other.hears() != nil)
    }
}

extension Switchboard {
    /// Runs `body` once the grace of the hold is over and before the timer fires, as can happen on a busy
    /// machine, until it has changed something.
    fileprivate func afterTheGrace(_ body: () -> Void) {
        let embedded = loop as? EmbeddedEventLoop
        wakeUp?.task.cancel()
        wakeUp = nil
        embedded?.advanceTime(by: configuration.stallGrace)
        for _ in 0...configuration.maximumPendingStartsPerApp + 1 { body() }
    }
}
