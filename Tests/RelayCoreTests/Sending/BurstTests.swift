// Frames that waited for a link that stood still go out no faster than the head unit tolerates.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("After a stall no session sends more in a second than head units stand")
struct BurstTests {
    /// A hub whose link stands still or goes on, and the times at which frames were written to it.
    private final class Stall {
        let hub: EmbeddedHub
        private(set) var written: [(session: UInt8, at: NIODeadline, frame: Frame)] = []

        init(limit: Int = 950) throws {
            hub = try EmbeddedHub { $0.framesPerSecond = limit }
        }

        func stands(_ isStill: Bool) {
            hub.link.isWritable = !isStill
            hub.link.pipeline.fireChannelWritabilityChanged()
        }

        /// Lets time pass in steps of 10 ms, and notes what is written.
        func pass(_ milliseconds: Int, each step: () throws -> Void = {}) throws {
            for _ in 0..<milliseconds / 10 {
                try step()
                hub.loop.advanceTime(by: .milliseconds(10))
                while let frame = try hub.link.hears() {
                    written.append((frame.sessionID, hub.loop.now, frame))
                }
            }
        }

        /// The most frames of a session that were written within any one second.
        func most(of session: UInt8) -> Int {
            let times = written.filter { $0.session == session }.map(\.at)
            var (first, most) = (0, 0)
            for last in times.indices {
                while times[first] + .seconds(1) <= times[last] { first += 1 }
                most = max(most, last - first + 1)
            }
            return most
        }
    }

    /// A link that takes what is written to it and passes nothing on while it stands still, and the times at
    /// which frames arrived.
    private final class Gate: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        let hub: EmbeddedHub
        private(set) var arrived: [(frame: Frame, at: NIODeadline)] = []
        private var isStill = false
        private var context: ChannelHandlerContext?

        init(limit: Int) throws {
            hub = try EmbeddedHub { $0.framesPerSecond = limit }
            try hub.link.pipeline.syncOperations.addHandler(self, position: .first)
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func flush(context: ChannelHandlerContext) {
            guard !isStill else {
                hub.link.isWritable = false
                return
            }
            context.flush()
        }

        func stands(_ isStill: Bool) {
            self.isStill = isStill
            guard !isStill, !hub.link.isWritable else { return }
            context?.flush()
            hub.link.isWritable = true
            hub.link.pipeline.fireChannelWritabilityChanged()
        }

        func pass(_ milliseconds: Int, each step: (Int) throws -> Void = { _ in }) throws {
            for millisecond in 0..<milliseconds {
                try step(millisecond)
                hub.loop.advanceTime(by: .milliseconds(1))
                while let frame = try hub.link.hears() { arrived.append((frame, hub.loop.now)) }
            }
        }

        /// The most frames of a session that arrived within any one second.
        func most(of session: UInt8) -> Int {
            let times = arrived.filter { $0.frame.sessionID == session }.map(\.at)
            var (first, most) = (0, 0)
            for last in times.indices {
                while times[first] + .seconds(1) <= times[last] { first += 1 }
                most = max(most, last - first + 1)
            }
            return most
        }
    }

    private func says(_ messages: ClosedRange<UInt32>, in session: UInt8) -> ByteBuffer {
        messages.reduce(into: ByteBuffer()) {
            $0.writeImmutableBuffer(Frame.rpc(session: session, message: $1).wire)
        }
    }

    @Test(
        "what was written before a standstill counts as of its end, whoever else has to wait",
        arguments: [true, false], [130, 1900, 3000])
    func writtenBefore(others: Bool, standstill: Int) throws {
        let gate = try Gate(limit: 100)
        let hasty = try gate.hub.app(session: 1)
        let other = try gate.hub.app(session: 2)
        try gate.pass(131)
        gate.stands(true)
        try hasty.writeInbound(says(1...150, in: 1))
        if others { try other.says(.rpc(session: 2)) }
        try gate.pass(standstill)
        #expect(gate.arrived.isEmpty)
        gate.stands(false)
        try gate.pass(3000)
        #expect(gate.arrived.count { $0.frame.sessionID == 1 } == 150)
        #expect(gate.arrived.count { $0.frame.sessionID == 2 } == (others ? 1 : 0))
        #expect(gate.most(of: 1) <= 100)
        #expect(gate.hub.switchboard.sdl.output.isTimeless)
    }

    @Test("a message that is begun when the link stands still goes on whole behind the standstill")
    func begunBefore() throws {
        let gate = try Gate(limit: 950)
        let music = try gate.hub.app(session: 1)
        let maps = try gate.hub.app(session: 2)
        let file = Frame.putFile(session: 1, frames: 3)
        let show = Frame.rpc(session: 2)
        gate.stands(true)
        try music.says(file[0])
        gate.hub.kernel.count = file[0].wire.readableBytes
        try maps.says(show)
        for frame in file.dropFirst() { try music.says(frame) }
        try gate.pass(12_000)
        gate.hub.kernel.count = 0
        gate.stands(false)
        try gate.pass(100)
        #expect(gate.arrived.map(\.frame).filter { $0.sessionID == 1 } == file)
        #expect(gate.arrived.map(\.frame).filter { $0.sessionID == 2 } == [show])
        // Notices about the head unit that stopped, not about a message.
        #expect(gate.hub.noticed().allSatisfy { $0.1 == nil })
    }

    @Test(
        "a message that had arrived before the standstill is given up behind it, and not waited for"
    )
    func givenUpBehind() throws {
        let gate = try Gate(limit: 950)
        let music = try gate.hub.app(session: 1)
        let maps = try gate.hub.app(session: 2)
        for frame in Frame.putFile(session: 1, frames: 3).prefix(2) { try music.says(frame) }
        try gate.pass(500)
        #expect(gate.arrived.map(\.frame.type) == [.first, .consecutive])
        gate.stands(true)
        let show = Frame.rpc(session: 2)
        try maps.says(show)
        gate.hub.kernel.count = show.wire.readableBytes
        try gate.pass(12_000)
        gate.hub.kernel.count = 0
        gate.stands(false)
        try gate.pass(10)
        #expect(gate.arrived.last?.frame == show)
        // The head unit checked for old messages when it got that frame.
        let refusal = Frame.rpc(
            session: 1, .response, .putFile, correlation: 7,
            json: #"{"success":false,"resultCode":"INVALID_DATA"}"#)
        try gate.hub.link.says(refusal)
        #expect(try music.hears() == refusal)
        #expect(
            gate.hub.noticed().contains { notice, app in
                guard case .messageEnded(let message) = notice else { return false }
                return message.cause == .paused && app != nil
            })
        music.close(promise: nil)
        try gate.pass(10)
        #expect(gate.arrived.suffix(2).map(\.frame.type) == [.consecutive, .control])
        #expect(gate.arrived.last?.frame.controlType == .endService)
    }

    @Test("a link that is slow stands still for nobody: a session may send what it may")
    func slow() throws {
        let gate = try Gate(limit: 20)
        let quiet = try gate.hub.app(session: 1)
        let busy = try gate.hub.app(session: 2)
        var said: UInt32 = 0
        // The link takes what it was given within 360 ms, and never all at once.
        try gate.pass(36_000) { millisecond in
            if millisecond % 360 == 0 {
                gate.stands(false)
                gate.stands(true)
            }
            if millisecond % 90 == 0 {
                try busy.says(.data(session: 2, message: UInt32(millisecond + 1), bytes: 1000))
            }
            if millisecond % 500 == 0 {
                said += 1
                try quiet.says(.rpc(session: 1, message: said))
            }
        }
        let arrived = gate.arrived.count { $0.frame.sessionID == 1 }
        #expect(arrived >= said - 2, "of \(said)")
    }

    @Test("a frame written just before a look is no standstill: whoever is held goes on in time")
    func writtenJustBefore() throws {
        let hub = try EmbeddedHub { $0.framesPerSecond = 20 }
        let hasty = try hub.app(session: 1)
        let other = try hub.app(session: 2)
        hub.loop.advanceTime(by: .milliseconds(50))
        try hasty.writeInbound(says(1...21, in: 1))
        #expect(try hub.heard().count == 20)
        var held = 0
        // Every other look finds a frame on its way that the kernel has had for 5 ms.
        while held < 3000, hub.switchboard.sdl.output.heldSessions.contains(1) {
            hub.loop.advanceTime(by: .milliseconds(45))
            let frame = Frame.rpc(session: 2, message: UInt32(held + 1))
            try other.says(frame)
            hub.kernel.count = frame.wire.readableBytes
            hub.loop.advanceTime(by: .milliseconds(10))
            hub.kernel.count = 0
            hub.loop.advanceTime(by: .milliseconds(145))
            held += 200
        }
        // Two slots more than the second and its own slot: the other app's frame is in the same slot.
        #expect(held <= 1400)
        #expect(try hub.heard().last { $0.sessionID == 1 }?.messageID == 21)
    }

    /// A link that moves in steps, as with a slow reader's window, with more waiting for it all the time.
    private func steps(
        apart milliseconds: Int, for seconds: Int, limit: Int,
        each step: (_ gate: EmbeddedHub, _ millisecond: Int) throws -> Void
    ) throws -> [(frame: Frame, at: NIODeadline)] {
        let hub = try EmbeddedHub { $0.framesPerSecond = limit }
        let busy = try hub.app(session: 2)
        hub.kernel.countsFlushed = true
        var arrived: [(Frame, NIODeadline)] = []
        var underWay: [Frame] = []
        for millisecond in 0..<seconds * 1000 {
            try step(hub, millisecond)
            if hub.switchboard.sdl.output.waitingBytes < 50_000 {
                let message = UInt32(millisecond + 1)
                try busy.says(
                    .data(session: 2, service: .video, message: message, bytes: 4000))
            }
            hub.loop.advanceTime(by: .milliseconds(1))
            while let frame = try hub.link.hears() { underWay.append(frame) }
            // The kernel has the frames, and lets two go at each step.
            if millisecond % milliseconds == 0 {
                arrived += underWay.prefix(2).map { ($0, hub.loop.now) }
                underWay.removeFirst(min(2, underWay.count))
            }
            hub.kernel.count = underWay.reduce(0) { $0 + $1.wire.readableBytes }
            hub.kernel.flushed = 0
        }
        return arrived
    }

    @Test(
        "a link that goes in steps holds nobody back who sends less than the limit",
        arguments: [150, 400, 700])
    func inSteps(milliseconds: Int) throws {
        var said: UInt32 = 0
        var quiet: EmbeddedChannel?
        let arrived = try steps(apart: milliseconds, for: 120, limit: 20) { hub, millisecond in
            if quiet == nil { quiet = try hub.app(session: 1) }
            guard millisecond % 1000 == 0 else { return }
            said += 1
            try quiet?.says(.rpc(session: 1, message: said))
            // 20 would be held back if time stood still for them.
            #expect(!hub.switchboard.sdl.output.heldSessions.contains(1), "at \(millisecond) ms")
        }
        #expect(arrived.count { $0.frame.sessionID == 1 } >= said - 3)
    }

    @Test("on such a link the beginning of a message is as old as for the head unit")
    func agesInSteps() throws {
        var maps: EmbeddedChannel?
        let first = Frame.putFile(session: 1, frames: 3)[0]
        let arrived = try steps(apart: 400, for: 30, limit: 950) { hub, millisecond in
            if maps == nil { maps = try hub.app(session: 1) }
            if millisecond == 500 { try maps?.says(first) }
        }
        let begun = try #require(arrived.first { $0.frame == first }?.at)
        let end = try #require(
            arrived.first { $0.frame.sessionID == 1 && $0.frame.type == .consecutive }?.at)
        // sdl_core gives the message up after 10 s; two steps may lie before the end.
        #expect(end - begun < .seconds(10))
    }

    @Test("frames of three seconds, written in a burst, are spread; other apps go on at once")
    func burst() throws {
        let stall = try Stall()
        let hasty = try stall.hub.app(session: 1)
        let other = try stall.hub.app(session: 2)
        stall.stands(true)
        var message: UInt32 = 0
        try stall.pass(3000) {
            for _ in 0..<9 {
                message += 1
                try hasty.says(.rpc(session: 1, message: message))
            }
        }
        #expect(stall.written.isEmpty)
        stall.stands(false)
        try stall.pass(200)
        #expect(stall.written.count == 950)
        let request = Frame.rpc(session: 2)
        try other.says(request)
        #expect(try stall.hub.link.hears() == request)
        try stall.pass(4000)
        #expect(stall.most(of: 1) == 950)
        #expect(stall.written.map(\.frame.messageID) == (1...message).map { $0 })
        #expect(stall.hub.switchboard.sdl.output.waitingBytes == 0)
        #expect(stall.hub.switchboard.sdl.output.isTimeless)
    }

    @Test(
        "the goodbye of an app that left behind a stall comes last, and a stop does not wait for it"
    )
    func goodbyes() throws {
        for isStop in [false, true] {
            let stall = try Stall(limit: 100)
            let app = try stall.hub.app(session: 1)
            stall.stands(true)
            for message in 1...150 as ClosedRange<UInt32> {
                try app.says(.rpc(session: 1, message: message))
            }
            stall.stands(false)
            try stall.pass(200)
            #expect(stall.written.count == 100)
            if isStop { stall.hub.switchboard.shutDown {} } else { app.close(promise: nil) }
            try stall.pass(isStop ? 700 : 2000)
            #expect(stall.written.last?.frame.controlType == .endService)
            #expect(stall.written.count { $0.frame.type == .single } == (isStop ? 100 : 150))
        }
    }
}
