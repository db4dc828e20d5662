// Memory of batches that is reused: never while a reader has it, and never beyond the queue's limit.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The storage of batches is used again")
struct TapStorageTests {
    private let storage = TapStorage()
    /// As large as the requested storage.
    private let large = ByteBuffer(repeating: 0, count: 1 << 20)

    /// The views that two sinks get of a batch of one frame.
    private func views(bytes: Int) -> (TapView, TapView) {
        var batch = TapBatch(.everything)
        batch.append(
            TappedFrame(
                frame: .data(session: 1, bytes: bytes), direction: .fromApp,
                app: AppID(rawValue: 1), time: WallTime(nanoseconds: 1)))
        return (
            TapView(batch, .everything, reserve: storage),
            TapView(batch, .exceptStreams, reserve: storage)
        )
    }

    private func firstFrame(_ items: [TapItem]) -> Frame? {
        if case .frames(let frames)? = items.first { frames.first?.frame } else { nil }
    }

    private func record(bytes: Int, message: UInt32 = 1, on tap: FrameTap) {
        tap.record(
            .data(session: 1, message: message, bytes: bytes), .fromApp, app: nil,
            time: WallTime(nanoseconds: 1))
        tap.endRead()
    }

    // MARK: One reader

    @Test("once the reader has come back for more, and has kept nothing")
    func again() throws {
        let queue = TapQueue(maximumBytes: 8 << 20)
        #expect(queue.push(views(bytes: 1 << 20).0))
        #expect(storage.bytes == 0)
        #expect(firstFrame(queue.takeAll())?.payloadBytes == 1 << 20)
        #expect(storage.bytes == 0, "the reader has it")
        #expect(queue.takeAll().isEmpty)
        #expect(storage.take(like: ByteBuffer()) == nil, "not for a few bytes")
        let again = try #require(storage.take(like: large))
        #expect(again.readableBytes == 0 && again.storageCapacity >= 1 << 20)
        #expect(storage.bytes == 0 && storage.take(like: large) == nil, "it is there once")
    }

    @Test("not what a frame is in that the reader keeps")
    func kept() {
        let queue = TapQueue(maximumBytes: 8 << 20)
        #expect(queue.push(views(bytes: 1 << 20).0))
        let kept = firstFrame(queue.takeAll())
        #expect(queue.takeAll().isEmpty)
        #expect(storage.bytes == 0)
        #expect(kept == .data(session: 1, bytes: 1 << 20))
    }

    // MARK: Two readers

    @Test("of two readers the last makes it ready, whichever that is", arguments: [true, false])
    func last(isFirstSlow: Bool) {
        let queues = (TapQueue(maximumBytes: 8 << 20), TapQueue(maximumBytes: 8 << 20))
        func share() {
            let (first, second) = views(bytes: 1 << 20)
            #expect(queues.0.push(first) && queues.1.push(second))
        }
        share()
        let (slow, fast) = isFirstSlow ? (queues.0, queues.1) : (queues.1, queues.0)
        #expect(firstFrame(fast.takeAll())?.payloadBytes == 1 << 20)
        #expect(fast.takeAll().isEmpty)
        #expect(storage.bytes == 0, "it lies in the other queue")
        #expect(firstFrame(slow.takeAll())?.payloadBytes == 1 << 20)
        #expect(storage.bytes == 0, "the other reader has it")
        #expect(slow.takeAll().isEmpty)
        #expect(storage.take(like: large) != nil)

        share()
        #expect(fast.takeAll().count == 1 && slow.takeAll().count == 1)
        #expect(fast.takeAll().isEmpty && storage.bytes == 0)
        #expect(slow.takeAll().isEmpty && storage.bytes > 0)
    }

    @Test("not what one of two readers keeps")
    func keptByOne() {
        let (keeper, other) = (TapQueue(maximumBytes: 8 << 20), TapQueue(maximumBytes: 8 << 20))
        func share() {
            let (first, second) = views(bytes: 1 << 20)
            #expect(keeper.push(first) && other.push(second))
        }
        share()
        let kept = firstFrame(keeper.takeAll())
        #expect(keeper.takeAll().isEmpty)
        #expect(other.takeAll().count == 1)
        #expect(other.takeAll().isEmpty)
        #expect(storage.bytes == 0)
        #expect(kept == .data(session: 1, bytes: 1 << 20))
    }

    // MARK: The tap

    @Test("a later batch is in the storage of an earlier one, and has its own frames")
    func later() {
        let (observers, recorder) = (
            TapQueue(maximumBytes: 16 << 20), TapQueue(maximumBytes: 16 << 20)
        )
        let tap = FrameTap(queue: observers, loop: EmbeddedEventLoop())
        tap.attach(
            recorder,
            TapPolicy(
                payload: .everything, delay: .milliseconds(10), streamDelay: .milliseconds(10)),
            news: [])
        for number in 1...6 as ClosedRange<UInt32> {
            let before = tap.storage.bytes
            record(bytes: 1 << 20, message: number, on: tap)
            #expect(tap.storage.bytes == 0 && (before > 0) == (number > 2), "it is used")
            let sent = Frame.data(session: 1, message: number, bytes: 1 << 20)
            #expect(firstFrame(observers.takeAll()) == sent)
            #expect(firstFrame(recorder.takeAll()) == sent)
        }
    }

    @Test("each batch has its own frames, also if the reader keeps them")
    func own() {
        let queue = TapQueue(maximumBytes: 16 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        var seen: [Frame?] = []
        for number in 1...6 as ClosedRange<UInt32> {
            record(bytes: 1 << 20, message: number, on: tap)
            seen.append(firstFrame(queue.takeAll()))
        }
        #expect(seen == (1...6).map { Frame.data(session: 1, message: $0, bytes: 1 << 20) })
    }

    @Test("no longer than the traffic is busy")
    func quiet() {
        let queue = TapQueue(maximumBytes: 8 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        record(bytes: 1 << 20, on: tap)
        _ = queue.takeAll()
        _ = queue.takeAll()
        for _ in 1..<TapStorage.quietBatches {
            record(bytes: 100, on: tap)
            tap.emit()
            #expect(tap.storage.bytes > 0, "a small batch is cut from busy traffic, too")
        }
        record(bytes: 100, on: tap)
        tap.emit()
        #expect(tap.storage.bytes == 0)
        #expect(tap.reservedBytes < TapStorage.minimumBytes, "nor where the next batch goes")
    }

    @Test("what one large frame needed is kept for none of the small ones that follow")
    func largeFrame() {
        let queue = TapQueue(maximumBytes: 64 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        record(bytes: 4 << 20, on: tap)
        #expect(queue.takeAll().count == 1)
        #expect(queue.takeAll().isEmpty)
        record(bytes: 500_000, on: tap)
        tap.emit()
        #expect(queue.takeAll().count == 1)
        #expect(tap.reservedBytes <= TapStorage.mostBytesAtOnce)
    }

    @Test("a frame that fills its storage, none, and one byte too many are seen as they are")
    func edges() {
        let queue = TapQueue(maximumBytes: 64 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        let sizes = [1 << 18, 1 << 20, 1 << 21].flatMap { [$0 - 13, $0 - 12, $0 - 11, 0] }
        for round in 1...3 as ClosedRange<UInt8> {
            var (seen, sent): ([Frame], [Frame]) = ([], [])
            for (index, bytes) in sizes.enumerated() {
                // Thousands of tiny ones between two huge ones.
                for number in 0..<UInt32(index == 4 ? 3000 : 1) {
                    let frame = Frame.data(
                        session: round, message: number, bytes: number == 0 ? bytes : 1,
                        filledWith: UInt8(index) &+ round)
                    sent.append(frame)
                    tap.record(frame, .fromApp, app: nil, time: WallTime(nanoseconds: 1))
                }
                tap.endRead()
                if index % 2 == 0 { tap.emit() }
                for case .frames(let frames) in queue.takeAll() { seen += frames.map(\.frame) }
            }
            tap.emit()
            for case .frames(let frames) in queue.takeAll() { seen += frames.map(\.frame) }
            #expect(seen == sent)
        }
        #expect(queue.missedBatches == 0)
    }

    @Test("what is in reserve makes room for what comes, and the limit holds for both")
    func limit() {
        let queue = TapQueue(maximumBytes: 5 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        var all: Int { queue.occupiedBytes + tap.storage.bytes }
        for _ in 0..<20 {
            let missed = queue.missedBatches
            while queue.missedBatches == missed {
                record(bytes: 1 << 20, on: tap)
                #expect(all <= queue.maximumBytes)
            }
            #expect(queue.occupiedBytes > queue.maximumBytes / 2, "the reserve has given way")
            _ = queue.takeAll()
            _ = queue.takeAll()
            #expect(all <= queue.maximumBytes)
            #expect(tap.storage.bytes > 0)
        }
    }

    @Test("no more than so much, however much all queues hold")
    func most() {
        let queue = TapQueue(maximumBytes: 256 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        for _ in 0..<40 { record(bytes: 1 << 20, on: tap) }
        #expect(queue.takeAll().count == 40)
        #expect(queue.takeAll().isEmpty)
        #expect((1...TapStorage.maximumBytes) ~= tap.storage.bytes)
    }
}
