import NIOCore
import SDLProtocol

/// Collects what reads bring and hands it over in batches.
///
/// Lives on the event loop. A batch leaves when it is large enough or has waited as long as the policy
/// says: waking its reader costs more than forwarding a frame. The queue behind it is
/// bounded by bytes; when that is full, frames go by unseen and are counted, until half of the queue is
/// empty again. Control frames are few and tell which sessions exist, so they are told as long as they
/// fit. Forwarding never waits for a sink, and a frame it will not see costs nothing.
///
/// A sink that is to miss nothing takes all there is, and says when the hub has to wait for it.
final class TapSink {
    /// What a frame or an event occupies besides its bytes, in a table that grows by doubling.
    static let overheadBytes = 256
    /// Bytes of a batch that is handed over at once, however young; less with a small queue. A
    /// quarter of it would wake the observers for every read of a link at full speed.
    static let batchBytes = 1 << 20

    let queue: TapQueue
    private let policy: TapPolicy
    private let loop: any EventLoop
    private let batchBytes: Int
    private var batch: TapBatch
    private var isDueSoon = false
    private var isDueLater = false
    /// The queue was full: until there is room, frames are only counted.
    private var isShedding = false
    private var missed = FrameSum()
    /// Called when the queue of a sink that misses nothing is full, and when half of it is empty again.
    private let hold: (Bool) -> Void
    private(set) var isHolding = false

    init(
        _ queue: TapQueue, _ policy: TapPolicy, loop: any EventLoop,
        hold: @escaping (Bool) -> Void = { _ in }
    ) {
        self.hold = hold
        self.queue = queue
        self.policy = policy
        self.loop = loop
        batch = TapBatch(policy.payload)
        // Some batches must fit, or nothing would be seen of a busy link.
        batchBytes = min(Self.batchBytes, queue.maximumBytes / 4)
    }

    @inline(__always)
    func record(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime, fate: FrameFate,
        grant: GrantMeaning?
    ) {
        guard !isShedding || frame.type == .control || hasCaughtUp() else {
            missed.count(frame.wire.readableBytes)
            return
        }
        batch.append(
            TappedFrame(
                frame: frame, direction: direction, app: app, time: time, fate: fate,
                grant: grant))
    }

    /// Events are rare and go at once, with the frames before them.
    func record(_ event: TapItem) {
        emit()
        if isShedding { tellMissed() }
        queue.push(event, evenIfFull: policy.overflow == .wait)
        holdIfFull()
    }

    /// Bytes that were no frame; copied, for the same reason as frames.
    func record(_ run: TappedBytes) {
        if case .headers = policy.payload { return }
        guard !isShedding else { return missed.bytes(run.bytes.readableBytes) }
        var copy = run
        copy.bytes = ByteBuffer(bytes: run.bytes.readableBytesView)
        record(.bytes(copy))
    }

    /// The frames of a read are recorded: hands them over now or soon.
    func endRead() {
        if isShedding { tellMissed() }
        guard !batch.isEmpty else { return }
        if batch.bytes >= batchBytes {
            emit()
        } else if batch.hasMoreThanStreams, !isDueSoon {
            isDueSoon = true
            loop.assumeIsolated().scheduleTask(in: policy.delay) {
                self.isDueSoon = false
                self.emit()
            }
        } else if !isDueSoon, !isDueLater {
            isDueLater = true
            loop.assumeIsolated().scheduleTask(in: policy.streamDelay) {
                self.isDueLater = false
                self.emit()
            }
        }
    }

    /// Hands over what there is.
    func emit() {
        guard !batch.isEmpty else { return }
        let isKept = queue.push(batch.take(queue.takeStorage), evenIfFull: policy.overflow == .wait)
        if !isKept { isShedding = true }
        holdIfFull()
    }

    /// Says that the hub has to wait, and has itself told when it need not any more.
    private func holdIfFull() {
        guard policy.overflow == .wait, !isHolding, queue.isFull else { return }
        isHolding = true
        hold(true)
        let sink = NIOLoopBound(self, eventLoop: loop)
        queue.whenHalfEmpty { [loop] in
            loop.execute { sink.value.release() }
        }
    }

    private func release() {
        guard isHolding else { return }
        isHolding = false
        hold(false)
    }

    /// Hands over what there is; the queue ends behind it.
    func finish() {
        emit()
        if isShedding { tellMissed() }
        queue.finish()
        release()
    }

    /// Looks once a read, at its first frame: the one before it may be long ago.
    @inline(never)
    private func hasCaughtUp() -> Bool {
        guard missed.frames == 0, queue.isHalfEmpty else { return false }
        isShedding = false
        return true
    }

    private func tellMissed() {
        queue.miss(missed)
        missed = FrameSum()
    }
}
