// Memory of batches that is used again: never while somebody has it, and never beyond the queue's limit.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The storage of batches is used again")
struct TapStorageTests {
    /// A batch of one frame.
    private func batch(bytes: Int) -> TapBatch {
        var batch = TapBatch(.everything)
        batch.append(
            TappedFrame(
                frame: .data(session: 1, bytes: bytes), direction: .fromApp,
                app: AppID(rawValue: 1), time: WallTime(nanoseconds: 1)))
        return batch
    }

    private func firstFrame(_ items: [TapItem]) -> Frame? {
        if case .frames(let frames)? = items.first { frames.first?.frame } else { nil }
    }

    @Test("once the reader has come back for more, and has kept nothing")
    func again() throws {
        let queue = TapQueue(maximumBytes: 8 << 20)
        #expect(queue.push(batch(bytes: 1 << 20)))
        #expect(queue.takeStorage() == nil)
        #expect(firstFrame(queue.takeAll())?.payloadBytes == 1 << 20)
        #expect(queue.takeStorage() == nil, "the reader has it")
        #expect(queue.takeAll().isEmpty)
        let storage = try #require(queue.takeStorage())
        #expect(storage.readableBytes == 0 && storage.storageCapacity >= 1 << 20)
        #expect(queue.takeStorage() == nil, "it is there once")
    }

    @Test("not what a frame is in that the reader keeps")
    func kept() {
        let queue = TapQueue(maximumBytes: 8 << 20)
        #expect(queue.push(batch(bytes: 1 << 20)))
        let kept = firstFrame(queue.takeAll())
        #expect(queue.takeAll().isEmpty)
        #expect(queue.takeStorage() == nil)
        #expect(kept == .data(session: 1, bytes: 1 << 20))
    }

    @Test("a sink's later batch is in the memory of an earlier one, and has its own frames")
    func sink() {
        let queue = TapQueue(maximumBytes: 16 << 20)
        let tap = FrameTap(queue: queue, loop: EmbeddedEventLoop())
        var seen: [Frame?] = []
        let sent = (1...6).map { Frame.data(session: 1, message: $0, bytes: 1 << 20) }
        for frame in sent {
            tap.record(frame, .fromApp, app: nil, time: WallTime(nanoseconds: 1))
            tap.endRead()
            seen.append(firstFrame(queue.takeAll()))
        }
        #expect(seen == sent)
        #expect(queue.reserveBytes <= TapStorage.maximumBytes)
    }

    @Test("no longer than the traffic is busy")
    func quiet() {
        let queue = TapQueue(maximumBytes: 8 << 20)
        #expect(queue.push(batch(bytes: 1 << 20)))
        _ = queue.takeAll()
        _ = queue.takeAll()
        #expect(queue.reserveBytes > 0)
        #expect(queue.push(batch(bytes: 100)))
        #expect(queue.reserveBytes == 0)
    }

    @Test("what is in reserve makes room for what comes, and the limit holds for both")
    func limit() {
        let queue = TapQueue(maximumBytes: 5 << 20)
        for _ in 0..<20 {
            var isFull = false
            while !isFull {
                isFull = !queue.push(batch(bytes: 1 << 20))
                #expect(queue.occupiedBytes + queue.reserveBytes <= queue.maximumBytes)
            }
            #expect(queue.occupiedBytes > queue.maximumBytes / 2, "the reserve has given way")
            _ = queue.takeAll()
            _ = queue.takeAll()
            #expect(queue.occupiedBytes + queue.reserveBytes <= queue.maximumBytes)
            #expect(queue.reserveBytes > 0)
        }
    }
}
