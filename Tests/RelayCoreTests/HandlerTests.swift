// The hub's handlers on embedded channels: no sockets, and a clock that moves when told.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The hub's handlers")
struct HandlerTests {
    @Test("frames in pieces reach the link whole, and only when they are whole")
    func pieces() throws {
        let bench = try EmbeddedHub()
        let app = try bench.app(session: 1)
        let frame = Frame.rpc(session: 1, json: #"{"mainField1":"in pieces"}"#)
        for byte in frame.wire.readableBytesView.dropLast() {
            try app.writeInbound(ByteBuffer(bytes: [byte]))
            #expect(try bench.link.hears() == nil)
        }
        try app.writeInbound(ByteBuffer(bytes: frame.wire.readableBytesView.suffix(1)))
        #expect(try bench.link.hears() == frame)
    }

    @Test("a frame whose end does not come is given up after a while, what follows is not lost")
    func stalledLink() throws {
        let bench = try EmbeddedHub()
        let app = try bench.app(session: 1)
        // Claims 64 KB and brings two real frames instead.
        let notice = Frame.rpc(session: 1, .notification, .onHMIStatus)
        var bytes = ByteBuffer(bytes: [0x51, 7, 0, 1, 0, 1, 0, 0, 0, 0, 0, 9])
        bytes.writeImmutableBuffer(notice.wire)
        bytes.writeImmutableBuffer(notice.wire)
        try bench.link.writeInbound(bytes)
        #expect(try app.hears() == nil)
        bench.loop.advanceTime(by: .seconds(10))
        #expect(try app.hears() == notice)
        #expect(try app.hears() == notice)
        #expect(bench.switchboard.sdl.garbageBytes == 12)
    }

    @Test("an app that stops in the middle of a frame is told about, and stays")
    func stalledApp() throws {
        let bench = try EmbeddedHub()
        let app = try bench.app(session: 1)
        try app.writeInbound(ByteBuffer(bytes: [0x51, 7, 0, 1, 0, 0]))
        bench.loop.advanceTime(by: .seconds(10))
        let problem = bench.switchboard.apps.values.first?.lastProblem
        #expect(problem == "stopped in the middle of a frame 10 s ago: 6 bytes since byte 40")
        #expect(app.isActive)
    }

    @Test("the link waits for an app that does not read, but only for the grace")
    func heldLink() throws {
        let bench = try EmbeddedHub()
        let stuck = try bench.app(session: 1)
        let other = try bench.app(session: 2)
        stuck.isWritable = false
        let before = bench.linkReads.count
        try bench.link.says(.rpc(session: 1, .notification))
        bench.link.read()
        #expect(bench.linkReads.count == before, "the link is held")
        bench.loop.advanceTime(by: .milliseconds(50))
        #expect(bench.linkReads.count == before + 1, "the link goes on")
        try bench.link.says(.rpc(session: 2, .notification))
        bench.link.read()
        #expect(bench.linkReads.count == before + 2, "the grace is given once")
        #expect(try other.hears() != nil)
    }

    @Test("an app that reads again lets the link go on at once")
    func releasedLink() throws {
        let bench = try EmbeddedHub()
        let slow = try bench.app(session: 1)
        slow.isWritable = false
        let before = bench.linkReads.count
        try bench.link.says(.rpc(session: 1, .notification))
        bench.link.read()
        #expect(bench.linkReads.count == before)
        slow.isWritable = true
        slow.pipeline.fireChannelWritabilityChanged()
        #expect(bench.linkReads.count == before + 1)
    }

    @Test("what waits for a busy link goes out by importance, each session in order")
    func busyLink() throws {
        let bench = try EmbeddedHub()
        let bulk = try bench.app(session: 1)
        let talker = try bench.app(session: 2)
        bench.link.isWritable = false
        let files = (1...3).map { Frame.data(session: 1, message: UInt32($0), bytes: 100) }
        for file in files { try bulk.says(file) }
        let request = Frame.rpc(session: 2)
        try talker.says(request)
        #expect(try bench.link.hears() == nil)
        bench.link.isWritable = true
        bench.link.pipeline.fireChannelWritabilityChanged()
        #expect(try bench.link.hears() == request)
        for file in files { #expect(try bench.link.hears() == file) }
    }

    @Test("a StartService the head unit ignores is refused after the timeout")
    func unansweredStart() throws {
        let bench = try EmbeddedHub()
        let app = try bench.app()
        try app.says(.startService())
        _ = try bench.link.hears()
        bench.loop.advanceTime(by: .seconds(20))
        #expect(try app.hears()?.controlType == .startServiceNAK)
        #expect(app.isActive)
    }

    @Test("a StartServiceACK that is amended is shown as it came and as it went on")
    func amended() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app()
        try app.says(.startService())
        let offers = [(ControlKey.secondaryTransports, BSONValue.array([.string("TCP_WIFI")]))]
        let answer = Frame.startServiceACK(session: 1, extra: offers)
        try hub.link.says(answer)
        #expect(try app.hears() == .startServiceACK(session: 1))
        hub.switchboard.tap.emit()
        var answers: [(FrameFate, Bool)] = []
        for case .frames(let frames) in hub.tapQueue.takeAll() {
            for tapped in frames where tapped.frame.controlType == .startServiceACK {
                let document = ControlPayload(tapped.frame).document
                answers.append(
                    (tapped.fate, document?.array(ControlKey.secondaryTransports) != nil))
            }
        }
        try #require(answers.count == 2)
        #expect(answers[0] == (.replaced, true) && answers[1] == (.amended, false))
    }

    @Test("a paced app goes on in the next slot and loses nothing")
    func paced() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 10 }
        let app = try bench.app(session: 1)
        let frames = (1...30).map { Frame.rpc(session: 1, message: UInt32($0)) }
        for frame in frames { try app.says(frame) }
        var heard: [Frame] = []
        for _ in 0..<50 {
            while let frame = try bench.link.hears() { heard.append(frame) }
            bench.loop.advanceTime(by: .milliseconds(100))
        }
        #expect(heard == frames)
    }

    @Test(
        "what a paced app said last goes out at its rate before the farewell, and the rest is counted",
        arguments: [25, 200])
    func lastWords(count: Int) throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 10 }
        let app = try bench.app(session: 1)
        let frames = (1...count).map { Frame.rpc(session: 1, message: UInt32($0)) }
        var bytes = ByteBuffer()
        for frame in frames { bytes.writeImmutableBuffer(frame.wire) }
        try app.writeInbound(bytes)
        try app.close().wait()
        var heard: [Frame] = []
        var dropped = 0
        for _ in 0..<40 {
            let before = heard.count
            while let frame = try bench.link.hears() { heard.append(frame) }
            #expect(heard.count - before <= 11, "no burst")
            bench.loop.advanceTime(by: .milliseconds(100))
        }
        bench.switchboard.tap.emit()
        for case .frames(let batch) in bench.tapQueue.takeAll() {
            dropped += batch.count { $0.fate == .dropped(.leftTooFast) }
        }
        #expect(heard.last?.controlType == .endService)
        #expect(heard.dropLast() == frames.prefix(heard.count - 1))
        #expect(heard.count - 1 + dropped == count)
        #expect(heard.count > 20)
        #expect(bench.switchboard.apps.isEmpty)
    }

    @Test("what an app could not say any more is told once, with a sum, however much it was")
    func unsaidWords() throws {
        let bench = try EmbeddedHub { $0.framesPerSecond = 10 }
        let app = try bench.app(session: 1)
        var bytes = ByteBuffer()
        for message in 1...500 as ClosedRange<UInt32> {
            bytes.writeImmutableBuffer(Frame.rpc(session: 1, message: message).wire)
        }
        let size = bytes.readableBytes / 500
        try app.writeInbound(bytes)
        try app.close().wait()
        var said = -1  // The farewell.
        for _ in 0..<40 {
            while try bench.link.hears() != nil { said += 1 }
            bench.loop.advanceTime(by: .milliseconds(100))
        }
        let told = bench.log.records.filter { $0.message.contains("frames_per_second") }
        #expect(told.map(\.level) == [.warning])
        let (frames, size500) = (500 - said, (500 - said) * size)
        #expect(told.first?.metadata["frames"] == "\(frames)" && frames > 400)
        #expect(told.first?.metadata["bytes"] == "\(size500)")
    }

    @Test("a link that breaks while it is written to leaves nothing behind for the next one")
    func brokenInTheMiddle() throws {
        let bench = try EmbeddedHub()
        let app = try bench.app(session: 1)
        try bench.link.pipeline.syncOperations.addHandler(BreaksWhenFlushed(), position: .first)
        var bytes = ByteBuffer()
        for message in 1...20 as ClosedRange<UInt32> {
            bytes.writeImmutableBuffer(
                Frame.data(session: 1, message: message, bytes: 8000).wire)
        }
        try app.writeInbound(bytes)
        #expect(!bench.link.isActive)
        #expect(!app.isActive)

        let next = try bench.nextLink()
        let newcomer = try bench.app()
        try newcomer.says(.startService())
        #expect(try next.hears() == .startService())
        #expect(try next.hears() == nil)
        #expect(bench.switchboard.sdl.output.waitingBytes == 0)
    }

    @Test("a link that breaks while it is read leaves no session behind that nobody can end")
    func brokenWhileRead() throws {
        let bench = try EmbeddedHub()
        // The link has room for one of them at a time: before the next goes, it is flushed.
        let long = Frame.control(
            .startService, session: 0, payload: ByteBuffer(repeating: 0, count: 2500))
        for frame in [.startService(), long, long] { try bench.app().says(frame) }
        #expect(try bench.heard() == [.startService()])
        try bench.link.pipeline.syncOperations.addHandler(BreaksWhenFlushed(), position: .first)
        var read = ByteBuffer()
        for session in 1...3 as ClosedRange<UInt8> {
            read.writeImmutableBuffer(Frame.startServiceACK(session: session).wire)
        }
        try bench.link.writeInbound(read)
        #expect(!bench.link.isActive)

        _ = try bench.nextLink()
        #expect(bench.switchboard.sdl.router.grants.keys.sorted() == [])
        #expect(bench.switchboard.sdl.router.farewells.count == 0)
    }

    @Test("an app closed in the middle of a read is not decoded any further")
    func closedInTheMiddle() throws {
        let bench = try EmbeddedHub { $0.foreignFrames = .close }
        let app = try bench.app(session: 1)
        var bytes = Frame.rpc(session: 9).wire
        bytes.writeImmutableBuffer(Frame.startService().wire)
        try app.writeInbound(bytes)
        #expect(!app.isActive)
        // Only the goodbye is on the link, and no StartService for an app that has left.
        #expect(try bench.link.hears()?.controlType == .endService)
        #expect(try bench.link.hears() == nil)
    }
}

/// A channel whose peer has gone, as the next write finds out.
private final class BreaksWhenFlushed: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func flush(context: ChannelHandlerContext) {
        context.close(promise: nil)
    }
}
