// A sink that may miss nothing and is slower than the traffic: everything waits for it, and nothing is lost.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A sink that may miss nothing")
struct TapHoldTests {
    private static let complete = TapPolicy(
        payload: .everything, delay: .milliseconds(10), streamDelay: .milliseconds(10),
        overflow: .wait)

    private static func frames(_ items: [TapItem]) -> [Frame] {
        items.flatMap { item -> [Frame] in
            if case .frames(let frames) = item { frames.map(\.frame) } else { [] }
        }
    }

    /// Fills the queue, so that the hub waits for it afterwards.
    private static func fill(_ queue: TapQueue, of hub: EmbeddedHub) throws {
        hub.switchboard.attach(queue, complete)
        for number in 1...20 as ClosedRange<UInt32> {
            try hub.link.says(.data(session: 1, message: number, bytes: 500))
        }
        hub.loop.advanceTime(by: .milliseconds(10))
    }

    @Test("all frames are kept, whatever its queue may hold, and the hub is told once each way")
    func keepsAll() {
        let loop = EmbeddedEventLoop()
        let queue = TapQueue(maximumBytes: 2000)
        let tap = FrameTap(queue: TapQueue(maximumBytes: 1 << 20), loop: loop)
        var holds: [Bool] = []
        tap.holdChanged = { [unowned tap] in holds.append(tap.isHolding) }
        tap.attach(queue, Self.complete, news: [])
        let sent = (1...100).map { Frame.data(session: 1, message: $0, bytes: 100) }
        for frame in sent {
            tap.record(
                frame, .fromApp, app: AppID(rawValue: 1), time: WallTime(nanoseconds: 1))
            tap.endRead()
            tap.emit()
        }
        #expect(holds == [true] && queue.missedBatches == 0)
        #expect(Self.frames(queue.takeAll()) == sent)
        loop.run()
        #expect(holds == [true], "the reader has not done with what it took")
        #expect(queue.takeAll().isEmpty)
        loop.run()
        #expect(holds == [true, false])
    }

    @Test(
        "the hub reads neither head unit nor apps until half of the queue is empty, and loses nothing"
    )
    func waits() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        let queue = TapQueue(maximumBytes: 4096)
        hub.switchboard.attach(queue, Self.complete)
        let down = (1...20).map { Frame.data(session: 1, message: $0, bytes: 500) }
        for frame in down { try hub.link.says(frame) }
        hub.loop.advanceTime(by: .milliseconds(10))
        #expect(hub.switchboard.isLinkHeld)
        let reads = hub.linkReads.count
        hub.link.pipeline.read()
        #expect(hub.linkReads.count == reads, "the head unit waits")
        let late = Frame.rpc(session: 1, message: 21)
        try app.says(late)
        #expect(try hub.link.hears() == nil, "so do the apps")

        for frame in down { #expect(try app.hears() == frame) }
        var seen = Self.frames(queue.takeAll())
        // The reader has written that, and comes for more.
        seen += Self.frames(queue.takeAll())
        hub.loop.run()
        #expect(!hub.switchboard.isLinkHeld && hub.linkReads.count == reads + 1)
        #expect(try hub.link.hears() == late)
        hub.loop.advanceTime(by: .milliseconds(10))
        seen += Self.frames(queue.takeAll())
        #expect(Array(seen.suffix(21)) == down + [late])
    }

    @Test("nobody waits for one that has left")
    func leaves() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        let queue = TapQueue(maximumBytes: 1000)
        try Self.fill(queue, of: hub)
        #expect(hub.switchboard.isLinkHeld)
        hub.switchboard.tap.detach(queue)
        #expect(!hub.switchboard.isLinkHeld)
    }

    @Test("an app that comes while all wait, waits too")
    func comesLater() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        let queue = TapQueue(maximumBytes: 1000)
        try Self.fill(queue, of: hub)
        let other = try hub.app()
        try other.says(.startService())
        #expect(try hub.link.hears() == nil)
        hub.switchboard.tap.detach(queue)
        #expect(try hub.link.hears() == .startService())
    }

    @Test("one that is full of what it is told first has all wait, too")
    func fullFromTheStart() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        let queue = TapQueue(maximumBytes: 300)
        hub.switchboard.attach(queue, Self.complete)
        #expect(hub.switchboard.isLinkHeld)
        let late = Frame.rpc(session: 1, message: 5)
        try app.says(late)
        #expect(try hub.link.hears() == nil, "so does the app that was there before")
        _ = queue.takeAll()
        _ = queue.takeAll()
        #expect(try hub.link.hears() == late)
    }

    @Test("what one app has waited to say may fill it again, and then the others wait on")
    func fullAgain() throws {
        let hub = try EmbeddedHub { $0.framesPerSecond = 0 }
        let apps = try (1...3).map { try hub.app(session: $0) }
        let queue = TapQueue(maximumBytes: 4096)
        try Self.fill(queue, of: hub)
        #expect(hub.switchboard.isLinkHeld)
        func speak(_ message: UInt32) throws {
            for (index, app) in apps.enumerated() {
                var read = ByteBuffer()
                for number in 1...20 as ClosedRange<UInt32> {
                    read.writeImmutableBuffer(
                        Frame.data(
                            session: UInt8(index + 1), message: message + number, bytes: 500
                        ).wire)
                }
                try app.writeInbound(read)
            }
        }
        try speak(100)
        #expect(try hub.heard().isEmpty)
        var heard: [Frame] = []
        for round in 1...4 {
            _ = queue.takeAll()
            _ = queue.takeAll()
            let frames = try hub.heard()
            #expect(Set(frames.map(\.sessionID)).count == 1, "one app's words fill the queue")
            heard += frames
            #expect(hub.switchboard.isLinkHeld)
            // No peer is read meanwhile.
            if round == 1 { try speak(200) }
            #expect(try hub.heard().isEmpty)
        }
        for session in 1...3 as ClosedRange<UInt8> {
            let messages = heard.filter { $0.sessionID == session }.compactMap(\.messageID)
            #expect(messages == Array(101...120) + Array(201...220))
        }
    }

    @Test("what relayd streams in an app's place waits as apps do, and takes no memory meanwhile")
    func stream() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        let answer = hub.loop.makePromise(of: StreamNews.self)
        let over = hub.loop.makePromise(of: StreamNews.self)
        let id = try hub.sdl.stream(
            .video, BSONDocument(), app: AppID(rawValue: 1), session: 1, patience: .seconds(10),
            answer: answer, over: over)
        #expect(try hub.link.hears()?.controlType == .startService)
        try hub.link.says(.control(.startServiceACK, service: .video, session: 1))
        let queue = TapQueue(maximumBytes: 4096)
        try Self.fill(queue, of: hub)
        #expect(hub.switchboard.tap.isHolding)

        let bytes = queue.occupiedBytes
        let picture = ByteBuffer(repeating: 1, count: 2000)
        var isSaid = false
        let said = hub.loop.makePromise(of: Void.self)
        said.futureResult.assumeIsolated().whenSuccess { isSaid = true }
        hub.sdl.streamData(picture, in: id, said: said)
        hub.loop.advanceTime(by: .seconds(1))
        #expect(try hub.link.hears() == nil)
        #expect(!isSaid && queue.occupiedBytes == bytes)

        _ = queue.takeAll()
        _ = queue.takeAll()
        hub.loop.run()
        let heard = try #require(try hub.link.hears())
        #expect(heard.service == .video && heard.payload == picture && isSaid)
        hub.loop.advanceTime(by: .milliseconds(10))
        #expect(Self.frames(queue.takeAll()) == [heard])
    }

    @Test("one that ends without having read does not keep what it was given")
    func failed() {
        weak var queue: TapQueue?
        weak var storage: TapStorage?
        let loop = EmbeddedEventLoop()
        do {
            let tap = FrameTap(queue: TapQueue(maximumBytes: 1 << 20), loop: loop)
            let full = TapQueue(maximumBytes: 2000)
            (queue, storage) = (full, tap.storage)
            tap.attach(full, Self.complete, news: [])
            for number in 1...100 as ClosedRange<UInt32> {
                tap.record(
                    .data(session: 1, message: number, bytes: 100), .fromApp, app: nil,
                    time: WallTime(nanoseconds: 1))
                tap.endRead()
                tap.emit()
            }
            #expect(tap.isHolding && full.isFull)
            tap.detach(full)
            #expect(!tap.isHolding)
        }
        loop.advanceTime(by: .seconds(1))
        #expect(queue == nil, "its disk is full, and nobody will read it")
        #expect(storage == nil)
    }

    @Test("nobody waits for one whose reader has ended it")
    func endedByReader() {
        let loop = EmbeddedEventLoop()
        let tap = FrameTap(queue: TapQueue(maximumBytes: 1 << 20), loop: loop)
        let queue = TapQueue(maximumBytes: 2000)
        tap.attach(queue, Self.complete, news: [])
        func pass(_ numbers: ClosedRange<UInt32>) {
            for number in numbers {
                tap.record(
                    .data(session: 1, message: number, bytes: 1000), .fromApp, app: nil,
                    time: WallTime(nanoseconds: 1))
                tap.endRead()
            }
        }
        pass(1...10)
        #expect(tap.isHolding)
        queue.finish()
        loop.run()
        #expect(!tap.isHolding)
        let bytes = queue.occupiedBytes
        pass(11...20)
        tap.emit()
        #expect(!tap.isHolding && queue.occupiedBytes == bytes, "it takes nothing any more")
        #expect(Self.frames(queue.takeAll()).compactMap(\.messageID) == Array(1...10))
    }
}

@Suite("Bytes that were no frame")
struct TappedBytesTests {
    @Test("those that a full queue has no room for are counted, whatever comes behind them")
    func missed() {
        let loop = EmbeddedEventLoop()
        let queue = TapQueue(maximumBytes: 3000)
        let tap = FrameTap(queue: TapQueue(maximumBytes: 1 << 20), loop: loop)
        let time = WallTime(nanoseconds: 1)
        tap.attach(
            queue,
            TapPolicy(
                payload: .everything, delay: .milliseconds(10), streamDelay: .milliseconds(10)),
            news: [])
        var (seen, missed) = (0, 0)
        func look() {
            for item in queue.takeAll() {
                switch item {
                case .frames(let frames):
                    seen += frames.reduce(0) { $0 + $1.frame.wire.readableBytes }
                case .bytes(let run): seen += run.bytes.readableBytes
                case .missed(_, let bytes): missed += bytes
                default: break
                }
            }
        }
        var sent = 0
        func noise(_ bytes: Int) {
            tap.record(
                TappedBytes(
                    bytes: ByteBuffer(repeating: 0xFF, count: bytes), direction: .fromApp, app: nil,
                    offset: UInt64(sent), time: time))
            tap.endRead()
            sent += bytes
        }
        func frame(_ bytes: Int) {
            tap.record(.data(session: 1, bytes: bytes), .fromApp, app: nil, time: time)
            tap.endRead()
            tap.emit()
            sent += bytes + 12
        }
        // More than the whole queue may hold.
        noise(5000)
        look()
        #expect(missed == 5000 && seen == 0)
        // Noise while the queue is full, and nothing else is missed before it has room again.
        frame(1000)
        frame(1000)
        frame(1000)
        noise(700)
        look()
        look()
        frame(100)
        look()
        #expect(seen + missed == sent, "\(seen) B seen and \(missed) B missed of \(sent) B")
        // Noise while the queue is full, and nothing comes after it.
        for _ in 1...3 { frame(1000) }
        noise(800)
        tap.finish()
        look()
        #expect(seen + missed == sent, "\(seen) B seen and \(missed) B missed of \(sent) B")
    }

    private static func words(_ queue: TapQueue) -> [String] {
        queue.takeAll().flatMap { item -> [String] in
            switch item {
            case .frames(let frames):
                frames.filter { !$0.isEarlier }.map { "\($0.direction) frame" }
            case .bytes(let run):
                [
                    "\(run.direction) \(run.app?.description ?? "-") at \(run.offset): \(run.bytes.readableBytes)"
                ]
            case .appClosed: ["app closed"]
            case .linkClosed: ["link closed"]
            default: []
            }
        }
    }

    private static func recorder(on hub: EmbeddedHub) -> TapQueue {
        let queue = TapQueue(maximumBytes: 1 << 20)
        hub.switchboard.attach(
            queue,
            TapPolicy(
                payload: .everything, delay: .milliseconds(10), streamDelay: .milliseconds(10)))
        return queue
    }

    @Test("of the head unit: before the frame that follows, with their place in the stream")
    func headUnit() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        let queue = Self.recorder(on: hub)
        let before = Frame.startServiceACK(session: 1).wire.readableBytes
        var noise = ByteBuffer(bytes: [0xFF, 0xFE, 0xFD])
        let frames = (1...3).map { Frame.rpc(session: 1, message: $0, .notification) }
        for frame in frames { noise.writeImmutableBuffer(frame.wire) }
        try hub.link.writeInbound(noise)
        for frame in frames { #expect(try app.hears() == frame) }
        hub.loop.advanceTime(by: .milliseconds(10))
        #expect(
            Self.words(queue)
                == ["fromAccessory - at \(before): 3"]
                + Array(repeating: "fromAccessory frame", count: 3))
    }

    @Test("of an app that dies within a frame: in front of its end")
    func app() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        let queue = Self.recorder(on: hub)
        let frame = Frame.rpc(session: 1, message: 2).wire
        let half = try #require(frame.getSlice(at: frame.readerIndex, length: 15))
        try app.writeInbound(half)
        app.pipeline.fireChannelInactive()
        hub.loop.advanceTime(by: .milliseconds(10))
        let begin = Frame.startService().wire.readableBytes
        let words = Self.words(queue)
        #expect(words.first == "fromApp #1 at \(begin): 15")
        #expect(words.contains("app closed"))
    }

    @Test("of a link that is lost within a frame")
    func link() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        let queue = Self.recorder(on: hub)
        let frame = Frame.rpc(session: 1, message: 2).wire
        let half = try #require(frame.getSlice(at: frame.readerIndex, length: 15))
        try hub.link.writeInbound(half)
        hub.link.pipeline.fireChannelInactive()
        let before = Frame.startServiceACK(session: 1).wire.readableBytes
        #expect(
            Self.words(queue).first == "fromAccessory - at \(before): 15")
    }
}
