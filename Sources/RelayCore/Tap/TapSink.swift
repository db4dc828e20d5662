import NIOCore
import SDLProtocol

/// One that looks at the traffic: knows when its reader is to be told, and what becomes of frames that its queue
/// has no room for.
///
/// Lives on the event loop. `FrameTap` collects for all sinks. What is large or old enough for one of them is
/// handed over to all, but each reader is told only when its sink's policy says so: waking it costs more than
/// forwarding a frame. The queue is bounded by bytes; when it is full, frames go by unseen and are counted, until
/// half of the queue is empty again. Control frames are few and tell which sessions exist, so they are told as
/// long as they fit. Forwarding never waits for a sink, and a frame it will not see costs nothing.
///
/// A sink that is to miss nothing takes all there is, and says when the hub has to wait for it.
final class TapSink {
    /// What a frame or an event occupies besides its bytes, in a table that grows by doubling.
    static let overheadBytes = 256
    /// Bytes of which a reader is told at once, however young; less with a small queue. A
    /// quarter of it would wake the observers for every read of a link at full speed.
    static let batchBytes = 1 << 20

    let queue: TapQueue
    let policy: TapPolicy
    private let loop: any EventLoop
    private let batchBytes: Int
    /// What is in the queue and its reader has not been told of.
    private var untold = TapLoad()
    private var isDueSoon = false
    private var isDueLater = false
    /// The queue was full: until there is room, it has no part in what is collected.
    private(set) var isShedding = false
    private var missed = FrameSum()
    /// What it is told all the same.
    private var control: TapBatch
    /// Called when the queue of a sink that misses nothing is full, and when half of it is empty again.
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

    /// The frames of a read are recorded: has its reader told soon.
    ///
    /// - Parameters:
    ///   - collected: For all sinks.
    ///   - tap: Has collected it, and hands it over when its time is up.
    /// - Returns: Whether that is to be done at once.
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

    /// Takes its view of a batch, and tells its reader if that has become much.
    ///
    /// - Parameter reserve: Where the storage of the batch goes in the end.
    func give(_ batch: TapBatch, _ reserve: TapStorage) {
        guard !isShedding else { return }
        untold = untold + batch.load
        let isMuch = untold.bytes(for: policy.payload) >= batchBytes
        if isMuch { untold = TapLoad() }
        push(TapView(batch, policy.payload, reserve: reserve), wakes: isMuch)
    }

    /// Has its reader look at all that there is.
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

    /// Events are rare and go at once, behind what has been handed over.
    ///
    /// - Parameter evenIfFull: It must be told, whatever the queue holds.
    func record(_ event: TapItem, evenIfFull: Bool = false) {
        giveControl()
        if isShedding { tellMissed() }
        queue.push(event, evenIfFull: evenIfFull || policy.overflow == .wait)
        tell()
        holdIfFull()
    }

    /// Whether it gets bytes that were no frame. Counts them if it has no room for them.
    func takes(_ run: TappedBytes) -> Bool {
        guard policy.payload != .headers else { return false }
        if isShedding { missed.bytes(run.bytes.readableBytes) }
        return !isShedding
    }

    /// The queue ends behind what it has been given.
    func finish() {
        giveControl()
        if isShedding { tellMissed() }
        queue.finish()
        release()
    }

    // MARK: The queue is full

    /// What passes while it has no part in what is collected.
    func pass(_ frame: TappedFrame) {
        if frame.frame.type == .control {
            control.append(frame)
        } else {
            missed.count(frame.frame.wire.readableBytes)
        }
    }

    /// Looks once a read, at its first frame: the one before it may be long ago.
    var canCatchUp: Bool { isShedding && missed.frames == 0 && queue.isHalfEmpty }

    /// Has a part in what is collected from here on, if it can.
    func catchUp() {
        guard canCatchUp else { return }
        // Bytes that were no frame may be among it.
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

    /// Says that the hub has to wait, and has itself told when it need not any more.
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
