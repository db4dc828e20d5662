import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The tap hands frames over in batches")
struct FrameTapTests {
    private let loop = EmbeddedEventLoop()
    private let time = WallTime(nanoseconds: 1)

    private func tap(_ queue: TapQueue) -> FrameTap { FrameTap(queue: queue, loop: loop) }

    private func record(_ frames: [Frame], on tap: FrameTap) {
        for frame in frames {
            tap.record(frame, .fromApp, app: AppID(rawValue: 1), time: time)
        }
        tap.endRead()
    }

    /// Everything the observers will ever see.
    private func rest(of queue: TapQueue) async -> [TapItem] {
        queue.finish()
        var items: [TapItem] = []
        while let batch = await queue.nextBatch() { items += batch }
        return items
    }

    private func frames(_ item: TapItem?) -> [Frame] {
        if case .frames(let frames) = item { frames.map(\.frame) } else { [] }
    }

    @Test("frames of several reads leave together, when the first has waited its time")
    func together() async {
        let queue = TapQueue(maximumBytes: 1 << 20)
        let tap = tap(queue)
        let sent = (1...3).map { Frame.rpc(session: 1, message: $0) }
        for frame in sent { record([frame], on: tap) }
        loop.advanceTime(by: TapPolicy.observers.delay)
        record([.rpc(session: 2)], on: tap)
        let items = await rest(of: queue)
        #expect(items.count == 1, "the last frame still waits")
        #expect(frames(items.first) == sent)
    }

    @Test("each batch waits anew")
    func again() async {
        let queue = TapQueue(maximumBytes: 1 << 20)
        let tap = tap(queue)
        record([.rpc(session: 1)], on: tap)
        loop.advanceTime(by: TapPolicy.observers.delay)
        record([.rpc(session: 2)], on: tap)
        loop.advanceTime(by: TapPolicy.observers.delay)
        let items = await rest(of: queue)
        #expect(items.map { frames($0).map(\.sessionID) } == [[1], [2]])
    }

    @Test("audio and video, which are only counted, wait longer, but hold nothing else up")
    func streams() async {
        let queue = TapQueue(maximumBytes: 1 << 20)
        let tap = tap(queue)
        let video = Frame.data(session: 1, service: .video, bytes: 1_000)
        record([video], on: tap)
        loop.advanceTime(by: TapPolicy.observers.delay)
        record([video], on: tap)
        // 100 ms after the first.
        loop.advanceTime(by: TapPolicy.observers.streamDelay - TapPolicy.observers.delay)
        record([video], on: tap)
        record([.rpc(session: 2)], on: tap)
        record([video], on: tap)
        // 10 ms after the RPC.
        loop.advanceTime(by: TapPolicy.observers.delay)
        let items = await rest(of: queue)
        #expect(items.map { frames($0).map(\.sessionID) } == [[1, 1], [1, 2, 1]])
    }

    @Test("a large batch leaves at the end of its read")
    func large() async {
        let queue = TapQueue(maximumBytes: 8 << 20)
        let sent = (1...3).map {
            Frame.data(session: 1, message: $0, bytes: TapSink.batchBytes / 3)
        }
        record(sent, on: tap(queue))
        #expect(frames(await rest(of: queue).first) == sent)
    }

    @Test("an event leaves at once, after the frames before it")
    func events() async {
        let queue = TapQueue(maximumBytes: 1 << 20)
        let tap = tap(queue)
        record([.rpc(session: 1)], on: tap)
        tap.record(.linkClosed(reason: "unplugged", time: time))
        let items = await rest(of: queue)
        #expect(items.count == 2)
        #expect(frames(items.first).count == 1)
        guard case .linkClosed = items.last else {
            Issue.record("the event is missing")
            return
        }
    }

    @Test(
        "frames arrive byte for byte, small ones in a batch with large ones",
        arguments: [
            [2035, 1, 2036, 2048],
            [100_000, 1, 2, 3, 100_000, 1],
        ])
    func bytes(sizes: [Int]) async {
        let queue = TapQueue(maximumBytes: 8 << 20)
        let tap = tap(queue)
        let sent = sizes.enumerated().map { index, size in
            Frame.data(
                session: UInt8(index + 1), bytes: size, filledWith: UInt8(index + 1))
        }
        record(sent, on: tap)
        tap.emit()
        #expect(frames(await rest(of: queue).first) == sent)
    }

    @Test("of audio and video the observers get the header, which tells the size")
    func headers() async throws {
        let queue = TapQueue(maximumBytes: 1 << 20)
        let tap = tap(queue)
        let video = Frame.data(session: 1, service: .video, message: 7, bytes: 100_000)
        let start = Frame(
            version: 5, type: .control, service: .video, info: 1, sessionID: 1,
            payload: ByteBuffer(string: "BSON"))
        record([video, start], on: tap)
        tap.emit()
        let seen = frames(await rest(of: queue).first)
        #expect(seen == [video.headerOnly, start])
        let first = try #require(seen.first)
        #expect(first.payloadBytes == 100_000 && first.messageID == 7)
        #expect(first.wire.readableBytes == 12 && first.payload.readableBytes == 0)
    }

    @Test(
        "no frame keeps its read buffer",
        arguments: [
            Frame.rpc(session: 1), Frame.data(session: 1, service: .audio, bytes: 100_000),
            Frame.data(session: 1, bytes: 3000), Frame.data(session: 1, bytes: 131_072),
        ])
    func copies(frame: Frame) async {
        let queue = TapQueue(maximumBytes: 1 << 20)
        let tap = tap(queue)
        var read = ByteBuffer()
        read.writeImmutableBuffer(frame.wire)
        let storage = read.withUnsafeReadableBytes { $0.baseAddress }
        record([Frame(checked: read)], on: tap)
        // Sole owners write in place, others into a copy.
        read.clear()
        read.writeInteger(UInt8(0))
        #expect(read.withUnsafeReadableBytes { $0.baseAddress } == storage)
    }

    @Test("what does not fit the queue is counted, and the gap is shown")
    func missed() async {
        let queue = TapQueue(maximumBytes: 1000)
        let tap = tap(queue)
        record([.data(session: 1, bytes: 488), .data(session: 1, bytes: 488)], on: tap)
        tap.emit()
        #expect(queue.missedBatches == 1)
        tap.record(.linkOpened(number: 1, address: "sim:", time: time))
        let items = await rest(of: queue)
        guard case .missed(frames: 2, bytes: 1000) = items.first else {
            Issue.record("the gap is not shown: \(items)")
            return
        }
        #expect(items.count == 2)
    }

    @Test("while the observers are behind, frames are only counted, but control frames told")
    func sheds() {
        let queue = TapQueue(maximumBytes: 3000)
        let tap = tap(queue)
        let small = Frame.data(session: 1, bytes: 488)
        let large = Frame.data(session: 1, bytes: 1188)
        record([large], on: tap)
        tap.emit()
        record([large], on: tap)
        tap.emit()
        // Full; the next frames would fit, but are left out until half is empty.
        let control = Frame.control(.heartbeat, session: 1)
        record([small, control, small], on: tap)
        tap.emit()
        let items = queue.takeAll()
        #expect(items.count == 3)
        #expect(frames(items.first) == [large])
        guard case .missed(frames: 3, bytes: 2200) = items[1] else {
            Issue.record("the gap is not shown: \(items)")
            return
        }
        #expect(frames(items.last) == [control])
        #expect(queue.takeAll().isEmpty, "the batches are done with")
        record([small], on: tap)
        tap.emit()
        #expect(frames(queue.takeAll().first) == [small])
    }

    @Test("a gap is shown even if nothing comes behind it")
    func missedLast() async {
        let queue = TapQueue(maximumBytes: 1000)
        let tap = tap(queue)
        record([.rpc(session: 1)], on: tap)
        tap.emit()
        record([.data(session: 1, bytes: 988)], on: tap)
        tap.emit()
        let items = await queue.nextBatch() ?? []
        guard items.count == 2, case .missed(frames: 1, bytes: 1000) = items.last else {
            Issue.record("the gap is not shown: \(items)")
            return
        }
    }

    @Test("a wait with patience ends by itself, one without does not")
    func patience() async {
        let queue = TapQueue(maximumBytes: 1000)
        #expect(await queue.nextBatch(within: .milliseconds(1))?.isEmpty == true)
        queue.finish()
        #expect(await queue.nextBatch() == nil)
    }
}
