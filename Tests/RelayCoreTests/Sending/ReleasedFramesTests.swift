// Frames that a session's rate has held back and that find no room on the link when they are let go.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Frames that their session's rate lets go wait for a busy link as all others do")
struct ReleasedFramesTests {
    /// An app that has said five more frames than its session may send in a second, and another app.
    private struct Bench {
        let hub: EmbeddedHub
        let hasty: EmbeddedChannel
        let other: EmbeddedChannel
        /// When the five are let go: a second after the end of the slot in which the others have left.
        let release: NIODeadline

        /// - Parameter standstill: How long the link stood still before the first frames went.
        init(after standstill: TimeAmount = .milliseconds(10)) throws {
            hub = try EmbeddedHub { $0.framesPerSecond = 20 }
            hasty = try hub.app(session: 1)
            other = try hub.app(session: 2)
            hub.loop.advanceTime(by: .seconds(2))
            hub.setBusy(true)
            for message in 1...25 as ClosedRange<UInt32> {
                try hasty.says(.data(session: 1, message: message, bytes: 1000))
            }
            hub.loop.advanceTime(by: standstill)
            hub.setBusy(false)
            // A hub that asks the kernel in every slot finds in the next one that they have left.
            let isWatched = standstill > RateGuard.slotLength
            release =
                RateGuard.nextSlot(after: hub.loop.now) + .seconds(1)
                + (isWatched ? RateGuard.slotLength : .zero)
            #expect(try hub.heard().count == 20)
            #expect(output.waitingFrames == 5 && output.heldSessions.contains(1))
            // What is said from now on leaves later than these.
            hub.loop.advanceTime(by: RateGuard.slotLength)
            hub.kernel.countsFlushed = true
        }

        var output: LinkOutput { hub.switchboard.sdl.output }

        /// Lets the five go now, when none of them finds room.
        func letGo() throws {
            hub.loop.advanceTime(to: release - .nanoseconds(1))
            #expect(output.heldSessions.contains(1))
            hub.loop.advanceTime(to: release)
            #expect(!output.heldSessions.contains(1))
            #expect(output.waitingFrames == 5)
        }

        /// How often the kernel is asked in the next second.
        func looksInASecond() -> Int {
            let before = hub.kernel.looks
            hub.loop.advanceTime(by: .seconds(1))
            return hub.kernel.looks - before
        }
    }

    @Test("a link that stands still is asked less and less often, and goes on with them")
    func standstill() throws {
        let bench = try Bench()
        try bench.other.says(.data(session: 2, bytes: 5000))
        try bench.letGo()
        let first = bench.looksInASecond()
        let second = bench.looksInASecond()
        #expect(second < first && second < 100, "\(first), \(second)")
        bench.hub.kernel.countsFlushed = false
        bench.hub.kernel.flushed = 0
        bench.hub.loop.advanceTime(by: LinkPacer.longestPoll)
        let heard = try bench.hub.heard().filter { $0.sessionID == 1 }.map(\.messageID)
        #expect(heard == [21, 22, 23, 24, 25])
        bench.hub.loop.advanceTime(by: .seconds(2))
        #expect(bench.output.isTimeless)
        #expect(bench.looksInASecond() == 0)
    }

    @Test("while they wait, the link shows how fast it is")
    func rate() throws {
        let bench = try Bench()
        try bench.other.says(.data(session: 2, bytes: 5000))
        try bench.letGo()
        #expect(bench.output.drainRate == nil, "nothing has had to wait for the link so far")
        for _ in 0..<20 {
            bench.hub.loop.advanceTime(by: .milliseconds(10))
            bench.hub.kernel.flushed -= 100
        }
        let rate = try #require(bench.output.drainRate)
        #expect((9_000...11_000).contains(rate), "100 bytes in 10 ms, not \(rate) in a second")
    }

    @Test("a head unit that takes nothing is told of once more when they wait for it")
    func stall() throws {
        let timeout = RelayConfiguration().stallTimeout
        let bench = try Bench(after: timeout)
        func told(_ frames: Int) -> RelayNotice {
            .stoppedReading(queuedBytes: frames * 1012, seconds: timeout.secondsAsNumber)
        }
        #expect(bench.hub.notices() == [told(25)], "before it took the first ones")
        try bench.other.says(.data(session: 2, bytes: 5000))
        try bench.letGo()
        bench.hub.loop.advanceTime(by: timeout - .nanoseconds(1))
        #expect(bench.hub.notices() == [])
        bench.hub.loop.advanceTime(by: .nanoseconds(1))
        #expect(bench.hub.notices() == [told(5)])
    }

    @Test("what another app has said in the same turn of the loop is on its way before them")
    func sameTurn() throws {
        let bench = try Bench()
        // Two frames: one leaves room, both do not.
        let half = LinkPacer.firstBytes / 2 - 12
        try bench.other.says(.data(session: 2, message: 1, bytes: half))
        bench.hub.loop.scheduleTask(deadline: bench.release) {
            try bench.other.says(.data(session: 2, message: 2, bytes: half))
        }
        try bench.letGo()
        #expect(try bench.hub.heard().map(\.messageID) == [1, 2])
    }

    @Test("when the link goes, there is nothing more to ask")
    func noLink() throws {
        let bench = try Bench()
        #expect(!bench.output.isTimeless)
        bench.hub.link.close(promise: nil)
        bench.hub.loop.run()
        #expect(!bench.hub.switchboard.isLinkUp)
        #expect(bench.output.isTimeless)
    }
}
