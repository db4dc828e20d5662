// The one door off the hot path: filled on the event loop, emptied by the observers.

import NIOCore
import SDLProtocol
import Synchronization

/// Collects what one read brought and hands it over as a whole.
///
/// Lives on the event loop. The queue behind it is bounded by bytes; when the observers are too
/// slow, frames go by unseen and are counted. Forwarding never waits for them.
package final class FrameTap {
    /// What a frame occupies besides its bytes: its entry, its share of the read buffer.
    static let overheadBytes = 256

    private let queue: TapQueue
    private var frames: [TappedFrame] = []
    private var bytes = 0

    package init(queue: TapQueue) {
        self.queue = queue
    }

    @inline(__always)
    func record(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime,
        fate: FrameFate = .forwarded
    ) {
        frames.append(
            TappedFrame(frame: frame, direction: direction, app: app, time: time, fate: fate))
        bytes += frame.wire.readableBytes + Self.overheadBytes
    }

    func record(_ event: TapItem) {
        emit()
        queue.push(event)
    }

    /// Hands over what the read brought.
    func emit() {
        guard !frames.isEmpty else { return }
        let batch = frames
        frames = []
        frames.reserveCapacity(min(batch.count, 64))
        queue.push(frames: batch, bytes: bytes)
        bytes = 0
    }
}

/// Carries items from the event loop to the observers.
package final class TapQueue: Sendable {
    fileprivate struct State {
        var items: [TapItem] = []
        /// Bytes of the frames in `items`.
        var queuedBytes = 0
        /// Bytes of the batch the observers are looking at.
        var takenBytes = 0
        var missedFrames = 0
        var missedBytes = 0
        var missedBatches = 0
        var isFinished = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let maximumBytes: Int

    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Batches, one per read, that went by unseen since the start.
    package var missedBatches: Int { state.withLock { $0.missedBatches } }

    func push(frames: [TappedFrame], bytes: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.queuedBytes + state.takenBytes + bytes <= maximumBytes else {
                state.missedFrames += frames.count
                state.missedBatches += 1
                state.missedBytes += bytes - frames.count * FrameTap.overheadBytes
                return nil
            }
            state.queuedBytes += bytes
            return state.append(.frames(frames))
        }
        waiter?.resume()
    }

    func push(_ event: TapItem) {
        let waiter = state.withLock { $0.append(event) }
        waiter?.resume()
    }

    /// No more items will come; what is queued can still be taken.
    package func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Everything queued, waiting for something if there is nothing; nil at the end.
    package func nextBatch() async -> [TapItem]? {
        while true {
            let (batch, isFinished) = state.withLock { $0.take() }
            if let batch { return batch }
            if isFinished { return nil }
            await withCheckedContinuation { continuation in
                let mayWait = state.withLock { state in
                    guard state.items.isEmpty, !state.isFinished else { return false }
                    state.waiter = continuation
                    return true
                }
                if !mayWait { continuation.resume() }
            }
        }
    }
}

extension TapQueue.State {
    fileprivate mutating func append(_ item: TapItem) -> CheckedContinuation<Void, Never>? {
        if missedFrames > 0 {
            items.append(.missed(frames: missedFrames, bytes: missedBytes))
            missedFrames = 0
            missedBytes = 0
        }
        items.append(item)
        return waiter.take()
    }

    fileprivate mutating func take() -> (batch: [TapItem]?, isFinished: Bool) {
        takenBytes = 0
        guard !items.isEmpty else { return (nil, isFinished) }
        defer {
            items = []
            takenBytes = queuedBytes
            queuedBytes = 0
        }
        return (items, isFinished)
    }
}
