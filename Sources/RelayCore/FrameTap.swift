// The one door off the hot path: filled on the event loop, emptied by the observers.

package import NIOCore
import NIOPosix
import SDLProtocol
import Synchronization

/// Collects what reads bring and hands it over in batches.
///
/// Lives on the event loop. A batch leaves when it is `batchBytes` large or `batchDelay` old, ten
/// times that when all of it is audio and video: waking up, and then the observers, costs more than
/// forwarding a frame, and nobody reads a log that fast. The queue
/// behind it is bounded by bytes; when the observers are too slow, frames go by unseen and are
/// counted, until half of the queue is empty again. Control frames are few and tell which sessions
/// exist, so they are told as long as they fit. Forwarding never waits for the observers, and a
/// frame they will not see costs it nothing.
final class FrameTap {
    /// What a frame or an event occupies besides its bytes, in a table that grows by doubling.
    static let overheadBytes = 256
    /// How long a frame may wait for others.
    static let batchDelay: TimeAmount = .milliseconds(10)
    /// How long a frame of audio or video may wait, of which the log tells sums once a second.
    static let streamDelay: TimeAmount = .milliseconds(100)
    /// Bytes of a batch that is handed over at once, however young; less with a small queue. A
    /// quarter of it would wake the observers for every read of a link at full speed.
    static let batchBytes = 1 << 20

    private let queue: TapQueue
    private let loop: any EventLoop
    private let batchBytes: Int
    private var batch = TapBatch()
    private var isDueSoon = false
    private var isDueLater = false
    /// The queue was full; frames are counted here.
    private var isShedding = false
    private var missed = FrameSum()

    init(queue: TapQueue, loop: any EventLoop) {
        self.queue = queue
        self.loop = loop
        // Some batches must fit, or the observers would see nothing of a busy link.
        batchBytes = min(Self.batchBytes, queue.maximumBytes / 4)
    }

    @inline(__always)
    func record(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime,
        fate: FrameFate = .forwarded
    ) {
        guard !isShedding || frame.type == .control else {
            missed.count(frame.wire.readableBytes)
            return
        }
        batch.append(
            TappedFrame(frame: frame, direction: direction, app: app, time: time, fate: fate))
    }

    /// Events are rare and go at once, with the frames before them.
    func record(_ event: TapItem) {
        emit()
        if isShedding { tellMissed() }
        queue.push(event)
    }

    /// The frames of a read are recorded: hands them over now or soon.
    func endRead() {
        if isShedding { tellMissed() }
        guard !batch.isEmpty else { return }
        if batch.bytes >= batchBytes {
            emit()
        } else if batch.isToldOneByOne, !isDueSoon {
            isDueSoon = true
            loop.assumeIsolated().scheduleTask(in: Self.batchDelay) {
                self.isDueSoon = false
                self.emit()
            }
        } else if !isDueSoon, !isDueLater {
            isDueLater = true
            loop.assumeIsolated().scheduleTask(in: Self.streamDelay) {
                self.isDueLater = false
                self.emit()
            }
        }
    }

    /// Hands over what there is.
    func emit() {
        guard !batch.isEmpty else { return }
        if !queue.push(batch.take()) { isShedding = true }
    }

    private func tellMissed() {
        if queue.miss(missed) { isShedding = false }
        missed = FrameSum()
    }
}

/// So many frames, with so many bytes.
struct FrameSum {
    private(set) var frames = 0
    private(set) var bytes = 0

    mutating func count(_ size: Int) {
        frames += 1
        bytes += size
    }
}

/// Frames on their way to the observers.
///
/// Frames are copied: a slice would keep a whole read buffer alive, up to 256 KiB for a frame of 64 B,
/// and the channel would need a new one for its next read, which costs more than copying bytes that
/// have just come. Of audio and video only the header is copied, because the observers count them
/// and look into none.
struct TapBatch {
    private var entries: [Entry] = []
    /// The copied frames, one behind the other.
    private var copies = ByteBuffer()
    /// What the frames occupy, `FrameTap.overheadBytes` each included.
    private(set) var bytes = 0
    /// What the frames had on the wire.
    private(set) var wireBytes = 0
    /// Whether there is more in it than audio and video, which the observers only count.
    private(set) var isToldOneByOne = false

    private struct Entry {
        /// Without its bytes.
        var frame: TappedFrame
        /// Where in `copies` its bytes are.
        var copy: Range<Int>
    }

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    @inline(__always)
    mutating func append(_ frame: TappedFrame) {
        let wire = frame.frame.wire
        wireBytes += wire.readableBytes
        let isCounted = frame.frame.service.isStream && frame.frame.type != .control
        if !isCounted { isToldOneByOne = true }
        let size = isCounted ? frame.frame.headerBytes : wire.readableBytes
        bytes += size + FrameTap.overheadBytes
        let start = copies.writerIndex
        wire.withUnsafeReadableBytes { all in
            _ = copies.writeBytes(UnsafeRawBufferPointer(rebasing: all.prefix(size)))
        }
        var entry = Entry(frame: frame, copy: start..<copies.writerIndex)
        entry.frame.frame = Frame(checked: ByteBuffer())
        entries.append(entry)
    }

    /// The batch, leaving an empty one that expects as much again.
    mutating func take() -> TapBatch {
        var taken = self
        entries = []
        entries.reserveCapacity(taken.entries.count)
        if copies.readableBytes < copies.storageCapacity / 2 {
            // A few bytes must not keep what a busy moment needed.
            taken.copies = ByteBuffer(bytes: copies.readableBytesView)
            copies.clear()
        } else {
            copies = ByteBuffer()
            copies.reserveCapacity(taken.copies.readableBytes)
        }
        bytes = 0
        wireBytes = 0
        isToldOneByOne = false
        return taken
    }

    /// What the observers see. To be called when the batch grows no more: cutting the copies out
    /// shares their storage, which an append would have to copy.
    var frames: [TappedFrame] {
        entries.map { entry in
            var frame = entry.frame
            if let wire = copies.getSlice(at: entry.copy.lowerBound, length: entry.copy.count) {
                frame.frame = Frame(checked: wire)
            }
            return frame
        }
    }
}

/// Carries items from the event loop to the observers.
package final class TapQueue: Sendable {
    fileprivate enum Item {
        case batch(TapBatch)
        case event(TapItem)
    }

    fileprivate struct State {
        var items: [Item] = []
        /// What did not fit and must be told all the same.
        var owed = OwedEvents()
        /// What `items` occupy.
        var queuedBytes = 0
        /// Bytes of the batch the observers are looking at.
        var takenBytes = 0
        var missedFrames = 0
        var missedBytes = 0
        var missedBatches = 0
        var isFinished = false
        var waiter: CheckedContinuation<Void, Never>?
        /// When the wait is to end although nothing has come.
        var alarm: (at: NIODeadline, task: Scheduled<Void>)?
        var hasRung = false
    }

    private let state = Mutex(State())
    let maximumBytes: Int
    private let timers: any EventLoop

    /// - Parameter timers: Keeps the time while `nextBatch` waits.
    package init(
        maximumBytes: Int,
        timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    ) {
        self.maximumBytes = maximumBytes
        self.timers = timers
    }

    /// How often the queue was full since the start.
    package var missedBatches: Int { state.withLock { $0.missedBatches } }

    /// Bytes that count against the limit.
    var occupiedBytes: Int { state.withLock { $0.queuedBytes + $0.takenBytes } }

    /// - Returns: Whether it fitted.
    fileprivate func push(_ batch: TapBatch) -> Bool {
        let (fits, waiter) = state.withLock {
            state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.queuedBytes + state.takenBytes + batch.bytes <= maximumBytes else {
                state.missedFrames += batch.count
                state.missedBatches += 1
                state.missedBytes += batch.wireBytes
                return (false, nil)
            }
            state.queuedBytes += batch.bytes
            return (true, state.append(.batch(batch)))
        }
        waiter?.resume()
        return fits
    }

    /// Notes frames that were not even collected.
    ///
    /// - Returns: Whether half of the queue is empty, so that it is worth while to collect again.
    fileprivate func miss(_ missed: FrameSum) -> Bool {
        state.withLock { state in
            state.missedFrames += missed.frames
            state.missedBytes += missed.bytes
            return state.queuedBytes + state.takenBytes <= maximumBytes / 2
        }
    }

    /// An event that does not fit is counted like a batch. Who is connected and whether there is a link
    /// is told later; what the hub noticed is lost.
    func push(_ event: TapItem) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            let bytes = event.eventBytes
            guard state.queuedBytes + state.takenBytes + bytes <= maximumBytes else {
                state.missedBatches += 1
                state.owed.note(event)
                return nil
            }
            state.queuedBytes += bytes
            return state.append(.event(event))
        }
        waiter?.resume()
    }

    /// No more items will come; what is queued can still be taken.
    package func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            state.alarm?.task.cancel()
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Everything queued, waiting for something if there is nothing; nil at the end.
    ///
    /// - Parameter patience: How long to wait; an empty batch says that it is over. It may come
    ///   early, when an earlier call had less patience.
    package func nextBatch(within patience: Duration? = nil) async -> [TapItem]? {
        if let patience { setAlarm(.now() + TimeAmount(patience)) }
        while true {
            let (items, isFinished) = state.withLock { $0.take() }
            if let items { return items.map(Self.item) }
            if isFinished { return nil }
            await withCheckedContinuation { continuation in
                let mayWait = state.withLock { state in
                    guard state.items.isEmpty, state.missedFrames == 0, state.owed.isEmpty,
                        !state.isFinished, !state.hasRung
                    else { return false }
                    state.waiter = continuation
                    return true
                }
                if !mayWait { continuation.resume() }
            }
        }
    }

    /// Everything queued, without waiting.
    func takeAll() -> [TapItem] {
        (state.withLock { $0.take() }.items ?? []).map(Self.item)
    }

    private static func item(_ item: Item) -> TapItem {
        switch item {
        case .batch(let batch): .frames(batch.frames)
        case .event(let event): event
        }
    }

    /// An alarm is left standing when its reason is gone, because requests are answered a thousand
    /// times before one is not; so an idle queue rings once more and then never again.
    private func setAlarm(_ moment: NIODeadline) {
        state.withLock { state in
            if let alarm = state.alarm {
                guard moment < alarm.at else { return }
                alarm.task.cancel()
            }
            let task = timers.scheduleTask(deadline: moment) { [weak self] in
                _ = self?.ring(moment)
            }
            state.alarm = (moment, task)
        }
    }

    private func ring(_ moment: NIODeadline) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.alarm?.at == moment else { return nil }
            state.alarm = nil
            state.hasRung = true
            return state.waiter.take()
        }
        waiter?.resume()
    }
}

extension TapQueue.State {
    fileprivate mutating func append(_ item: TapQueue.Item) -> CheckedContinuation<Void, Never>? {
        tellMissed()
        items.append(item)
        return waiter.take()
    }

    private mutating func tellMissed() {
        if missedFrames > 0 {
            items.append(.event(.missed(frames: missedFrames, bytes: missedBytes)))
            missedFrames = 0
            missedBytes = 0
        }
        for event in owed.take() {
            queuedBytes += event.eventBytes
            items.append(.event(event))
        }
    }

    fileprivate mutating func take() -> (items: [TapQueue.Item]?, isFinished: Bool) {
        takenBytes = 0
        // Not only when something comes behind it, which may take long after a flood.
        tellMissed()
        guard !items.isEmpty else {
            guard hasRung else { return (nil, isFinished) }
            hasRung = false
            return ([], isFinished)
        }
        hasRung = false
        defer {
            items = []
            takenBytes = queuedBytes
            queuedBytes = 0
        }
        return (items, isFinished)
    }
}
