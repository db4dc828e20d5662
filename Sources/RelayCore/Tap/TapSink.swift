import NIOCore
import SDLProtocol

/// One sink of the tap: knows when its reader is to be told, and what happens to frames that its queue has no
/// room for.
///
/// Lives on the event loop. `FrameTap` collects for all sinks. Once a batch is large or old enough for one of
/// them, it is handed over to all, but each reader is told only when its sink's policy says so: waking it
/// costs more than forwarding a frame. The queue is bounded by bytes; when it is full, frames go by unseen
/// and are counted, until half of the queue is empty again. Control frames are few and tell which sessions
/// exist, so they are told as long as they fit. Forwarding never waits for a sink, and a frame it will not
/// see costs nothing.
///
/// A sink that may miss nothing takes everything, and says when the hub has to wait for it.
final class TapSink {
    /// Bytes that a frame or an event occupies besides its own, in a table that grows by doubling.
    static let overheadBytes = 256
    /// Bytes at which a reader is told at once, however young they are; fewer with a small queue. A quarter
    /// of this number would wake the observers for every read of a link at full speed.
    static let batchBytes = 1 << 20

    let queue: TapQueue
    let policy: TapPolicy
    private let loop: any EventLoop
    private let batchBytes: Int
    /// What is in the queue without its reader having been told.
    private var untold = TapLoad()
    private var isDueSoon = false
    private var isDueLater = false
    /// Whether the queue was full: until there is room, the sink takes no part in what is collected.
    private(set) var isShedding = false
    private var missed = FrameSum()
    /// Control frames, which the reader is told of all the same.
    private var control: TapBatch
    /// Called when the queue of a sink that may miss nothing is full, and when half of it is empty again.
    var holdChanged: () -> Void = {}
    private(set) var isHolding = false

    init(_ queue: TapQueue, _ policy: TapPolicy, loop: any EventLoop) {
        self.queue = queue
        self.policy = policy
        self.loop = loop
        control = TapBatch(policy.payload)
        // Some batches must fit, or nothing would be seen of a busy link.
        batchBytes = min(Self.batchBytes, queue.maximumBytes / 4)
    }

    // MARK: What is collected for all

    /// Ends a read, whose frames are recorded: has its reader told soon.
    ///
    /// - Parameters:
    ///   - collected: What is collected for all sinks.
    ///   - tap: Has collected it, and hands it over when the time is up.
    /// - Returns: Whether to hand over at once.
    func endRead(_ collected: TapLoad, of tap: FrameTap) -> Bool {
        if isShedding { tellMissed() }
        let waiting = untold + (isShedding ? control.load : collected)
        guard !waiting.isEmpty else { return false }
        if waiting.bytes(for: policy.payload) >= batchBytes {
            if isShedding { tell() }
            return !isShedding
        }
        if waiting.hasMoreThanStreams, !isDueSoon {
            isDueSoon = true
            loop.assumeIsolated().scheduleTask(in: policy.delay) {
                self.isDueSoon = false
                self.timeIsUp(tap)
            }
        } else if !isDueSoon, !isDueLater {
            isDueLater = true
            loop.assumeIsolated().scheduleTask(in: policy.streamDelay) {
                self.isDueLater = false
                self.timeIsUp(tap)
            }
        }
        return false
    }

    private func timeIsUp(_ tap: FrameTap) {
        tap.handOver()
        tell()
    }

    /// Queues its view of a batch, and tells its reader once there is much to see.
    ///
    /// - Parameter reserve: Where the storage of the batch goes in the end.
    func give(_ batch: TapBatch, _ reserve: TapStorage) {
        guard !isShedding else { return }
        untold = untold + batch.load
        let isMuch = untold.bytes(for: policy.payload) >= batchBytes
        if isMuch { untold = TapLoad() }
        push(TapView(batch, policy.payload, reserve: reserve), wakes: isMuch)
    }

    /// Has its reader look at everything there is.
    func tell() {
        giveControl()
        untold = TapLoad()
        queue.wake()
    }

    private func push(_ view: TapView, wakes: Bool) {
        let isKept = queue.push(view, evenIfFull: policy.overflow == .wait, wakes: wakes)
        if !isKept { isShedding = true }
        holdIfFull()
    }

    // MARK: Events

    /// Events are rare and go at once, after what has been handed over.
    ///
    /// - Parameter evenIfFull: Whether the event must be told, whatever the queue holds.
    func record(_ event: TapItem, evenIfFull: Bool = false) {
        giveControl()
        if isShedding { tellMissed() }
        queue.push(event, evenIfFull: evenIfFull || policy.overflow == .wait)
        tell()
        holdIfFull()
    }

    /// Whether the sink gets bytes that were no frame. Counts them if it has no room for them.
    func takes(_ run: TappedBytes) -> Bool {
        guard policy.payload != .headers else { return false }
        if isShedding { missed.bytes(run.bytes.readableBytes) }
        return !isShedding
    }

    /// Ends the queue after what it has been given.
    func finish() {
        giveControl()
        if isShedding { tellMissed() }
        queue.finish()
        release()
    }

    // MARK: The queue is full

    /// Handles a frame that passes while the sink takes no part in what is collected.
    func pass(_ frame: TappedFrame) {
        if frame.frame.type == .control {
            control.append(frame)
        } else {
            missed.count(frame.frame.wire.readableBytes)
        }
    }

    /// Whether it can take part again. Decided at the first frame of a read, because the frame before it may
    /// be long ago; false once a frame of the read was missed.
    var canCatchUp: Bool { isShedding && missed.frames == 0 && queue.isHalfEmpty }

    /// Takes part in what is collected from here on, if it can.
    func catchUp() {
        guard canCatchUp else { return }
        // Bytes that were no frame may have been missed.
        tellMissed()
        isShedding = false
        giveControl()
    }

    private func giveControl() {
        guard !control.isEmpty else { return }
        push(TapView(control.take(), policy.payload), wakes: true)
    }

    private func tellMissed() {
        queue.miss(missed)
        missed = FrameSum()
    }

    // MARK: A sink that is to miss nothing

    /// Says that the hub has to wait, and arranges to be told when it no longer has to.
    private func holdIfFull() {
        guard policy.overflow == .wait, !isHolding, queue.isFull else { return }
        isHolding = true
        holdChanged()
        let sink = NIOLoopBound(self, eventLoop: loop)
        queue.whenHalfEmpty { [loop] in
            loop.execute { sink.value.release() }
        }
        queue.wake()
    }

    private func release() {
        guard isHolding else { return }
        isHolding = false
        holdChanged()
    }
}
