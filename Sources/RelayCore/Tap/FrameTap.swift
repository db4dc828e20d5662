import NIOCore
package import SDLProtocol

/// The one way off the hot path: shows frames and events to every sink. Lives on the event loop.
///
/// Frames are copied once, into a batch from which each sink gets what it wants. Each sink has its own queue,
/// bound, policy and count of missed frames, so a slow sink never costs the others a frame.
package final class FrameTap {
    private let loop: any EventLoop
    /// The observers' sink. Kept apart from the others: while there are none, no array is looked at.
    private let observers: TapSink
    private var others: [TapSink] = []
    /// What has passed since the last batch, for the sinks whose queues are not full.
    private var batch: TapBatch
    /// Sinks whose queues are full.
    private var sheddingSinks = 0
    /// Storage for the next batches.
    let storage = TapStorage()
    private var isFinished = false
    /// For sinks that are attached later.
    private var prologue = TapPrologue(maximumBytes: prologueBytes)
    /// Called when the hub has to wait for a sink, and when it no longer has to.
    var holdChanged: () -> Void = {}

    /// Room for the registrations and grants of all sessions that a link can have, with long answers.
    private static let prologueBytes = 8 << 20

    init(queue: TapQueue, _ policy: TapPolicy = .observers, loop: any EventLoop) {
        self.loop = loop
        observers = TapSink(queue, policy, loop: loop)
        batch = TapBatch(policy.payload)
    }

    // MARK: Sinks

    /// Adds a sink, which sees everything from now on. First it gets the frames that opened the running
    /// sessions and registered their apps.
    ///
    /// - Parameter news: Events that bring the sink up to date.
    func attach(_ queue: TapQueue, _ policy: TapPolicy, news: [TapItem]) {
        guard !isFinished else { return queue.finish() }
        emit()
        let sink = TapSink(queue, policy, loop: loop)
        sink.holdChanged = { [weak self] in self?.holdChanged() }
        // These may fill its queue, and then the hub has to wait for it.
        others.append(sink)
        regroup()
        for event in news { sink.record(event) }
        let frames = prologue.frames
        // Without the frames, nothing of the sessions could be understood. Their bytes have a limit of their
        // own.
        if !frames.isEmpty { sink.record(.frames(frames), evenIfFull: true) }
    }

    /// Removes the sink with this queue. The queue ends after what it has been given.
    func detach(_ queue: TapQueue) {
        guard let index = others.firstIndex(where: { $0.queue === queue }) else { return }
        emit()
        let sink = others.remove(at: index)
        regroup()
        sink.finish()
    }

    /// Works out which sinks take part in the next batch; the current one is empty.
    private func regroup() {
        sheddingSinks = countShedding()
        var payload = observers.isShedding ? .headers : observers.policy.payload
        for sink in others where !sink.isShedding { payload = max(payload, sink.policy.payload) }
        batch.begin(for: payload)
    }

    private func countShedding() -> Int {
        (observers.isShedding ? 1 : 0) + others.count(where: \.isShedding)
    }

    /// Whether a sink that may miss nothing is full, so that nobody is to be read.
    var isHolding: Bool { others.contains(where: \.isHolding) }

    // MARK: Frames

    @inline(__always)
    package func record(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime,
        fate: FrameFate = .forwarded, grant: GrantMeaning? = nil, isWaiting: Bool = false
    ) {
        if sheddingSinks == 0 {
            batch.append(
                frame, direction, app: app, time: time, fate: fate, grant: grant,
                isWaiting: isWaiting)
        } else {
            recordForSome(
                frame, direction, app: app, time: time, fate: fate, grant: grant,
                isWaiting: isWaiting)
        }
        if TapPrologue.concerns(frame) {
            learn(
                frame, direction, app: app, time: time, fate: fate, grant: grant,
                isWaiting: isWaiting)
        }
    }

    /// Records a frame while some queues are full: their sinks miss it or get it separately.
    @inline(never)
    private func recordForSome(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime, fate: FrameFate,
        grant: GrantMeaning?, isWaiting: Bool
    ) {
        if frame.type != .control { catchUp() }
        let tapped = TappedFrame(
            frame: frame, direction: direction, app: app, time: time, fate: fate, grant: grant,
            isWaiting: isWaiting)
        var isWanted = !observers.isShedding
        if observers.isShedding { observers.pass(tapped) }
        for sink in others {
            if sink.isShedding { sink.pass(tapped) } else { isWanted = true }
        }
        if isWanted { batch.append(tapped) }
    }

    /// Lets sinks with room take part again, after handing over what was collected without them.
    private func catchUp() {
        guard observers.canCatchUp || others.contains(where: \.canCatchUp) else { return }
        handOver()
        observers.catchUp()
        for sink in others { sink.catchUp() }
        regroup()
    }

    @inline(never)
    private func learn(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime, fate: FrameFate,
        grant: GrantMeaning?, isWaiting: Bool
    ) {
        prologue.learn(
            TappedFrame(
                frame: frame, direction: direction, app: app, time: time, fate: fate,
                grant: grant, isWaiting: isWaiting))
    }

    /// Ends a read: its frames are handed over now or soon.
    func endRead() {
        let collected = batch.load
        var isMuch = observers.endRead(collected, of: self)
        if !others.isEmpty {
            for sink in others where sink.endRead(collected, of: self) { isMuch = true }
        }
        if isMuch { handOver() }
    }

    /// Hands over what there is, and has every reader look at it.
    func emit() {
        handOver()
        observers.tell()
        for sink in others { sink.tell() }
    }

    /// Gives the sinks what there is; each tells its reader when it is time.
    func handOver() {
        guard !batch.isEmpty else { return }
        let filled = batch.take(from: storage)
        observers.give(filled, storage)
        for sink in others { sink.give(filled, storage) }
        settle(after: filled)
        if countShedding() != sheddingSinks { regroup() }
    }

    private func settle(after filled: TapBatch) {
        var room = observers.queue.room
        for sink in others { room = max(room, sink.queue.room) }
        if storage.settle(isLarge: filled.isLarge, room: room), batch.isEmpty { batch.shrink() }
    }

    /// Bytes of storage that no queue counts: in reserve, and in the batch that is being filled.
    var reservedBytes: Int { storage.bytes + batch.storageBytes }

    // MARK: Events

    /// Records an event. Events are rare and are handed over at once, with the frames before them.
    package func record(_ event: TapItem) {
        prologue.learn(event)
        handOver()
        observers.record(event)
        for sink in others { sink.record(event) }
    }

    /// Records something that did not pass the hub. The observers are not told: it includes their own
    /// findings.
    ///
    /// - Returns: Whether there is a sink for it.
    @discardableResult
    func record(_ note: TapNote, at time: WallTime) -> Bool {
        guard !others.isEmpty else { return false }
        handOver()
        for sink in others { sink.record(.noted(note, time: time)) }
        return true
    }

    /// Records bytes that were no frame, copied for the same reason as frames. The observers count them, and
    /// are told by a notice.
    func record(_ run: TappedBytes) {
        let takers = others.filter { $0.takes(run) }
        guard !takers.isEmpty else { return }
        handOver()
        var copy = run
        copy.bytes = ByteBuffer(bytes: run.bytes.readableBytesView)
        for sink in takers { sink.record(.bytes(copy)) }
    }

    /// Ends all queues; what they hold can still be taken.
    func finish() {
        isFinished = true
        handOver()
        let sinks = others
        others = []
        regroup()
        observers.finish()
        // Apps that have waited for one of the sinks go on at once.
        for sink in sinks { sink.finish() }
    }
}
