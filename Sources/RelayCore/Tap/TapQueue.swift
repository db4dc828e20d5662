package import NIOCore
import NIOPosix
import Synchronization

/// Carries items off the event loop: a queue with one reader, bounded by bytes. `TapSink` fills it.
package final class TapQueue: Sendable {
    fileprivate enum Item {
        case frames(TapView)
        case event(TapItem)

        /// Bytes that it counts for.
        var bytes: Int {
            switch self {
            case .frames(let view): view.occupiedBytes
            case .event(.missed): 0
            case .event(let event): event.eventBytes
            }
        }
    }

    /// Waits until the reader is done with a number of items, and with what it took before them.
    fileprivate struct Watcher {
        var items: Int
        let act: @Sendable () -> Void
    }

    fileprivate struct State {
        var items: [Item] = []
        /// Events that did not fit and must be told all the same.
        var owed = OwedEvents()
        /// Bytes that `items` occupy.
        var queuedBytes = 0
        /// Bytes the reader took last and has not finished with.
        var takenBytes = 0
        /// The storage of what the reader took last, and where it is given back.
        var lent: [ByteBuffer] = []
        var reserve: TapStorage?
        var missedFrames = 0
        var missedBytes = 0
        var missedBatches = 0
        var isFinished = false
        var waiter: CheckedContinuation<Void, Never>?
        /// When the wait ends although nothing has come.
        var alarm: (at: NIODeadline, task: Scheduled<Void>)?
        var hasRung = false
        /// To be called when there is room again.
        var whenHalfEmpty: (@Sendable () -> Void)?
        /// To be called when the reader is done with what is queued.
        var watchers: [Watcher] = []
    }

    private let state = Mutex(State())
    package let maximumBytes: Int
    private let timers: any EventLoop

    /// - Parameter timers: Keeps the time while `nextBatch` waits.
    package init(
        maximumBytes: Int,
        timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    ) {
        self.maximumBytes = maximumBytes
        self.timers = timers
    }

    /// How often the queue was full since it was made.
    package var missedBatches: Int { state.withLock { $0.missedBatches } }

    /// Bytes that count against the limit.
    var occupiedBytes: Int { state.withLock { $0.queuedBytes + $0.takenBytes } }

    /// Bytes that still fit; 0 when the queue holds more than it may.
    var room: Int { max(0, maximumBytes - occupiedBytes) }

    /// Whether at least half of the queue is free, so that it is worthwhile to collect again.
    var isHalfEmpty: Bool { occupiedBytes <= maximumBytes / 2 }

    /// Whether somebody may have to wait for room; nobody waits for a queue that has ended.
    package var isFull: Bool {
        state.withLock { state in
            !state.isFinished && state.queuedBytes + state.takenBytes >= maximumBytes
        }
    }

    /// Calls `act` once, on any thread, when half of the queue is empty: at once, or when the reader is done
    /// with what it took. Also when the queue ends: nobody waits for one that has ended.
    func whenHalfEmpty(_ act: @escaping @Sendable () -> Void) {
        let isSo = state.withLock { state in
            let isSo = state.isFinished || state.isHalfEmpty(of: maximumBytes)
            state.whenHalfEmpty = isSo ? nil : act
            return isSo
        }
        if isSo { act() }
    }

    /// Calls `act` once, on any thread, when the reader is done with everything queued so far: at once if it
    /// is waiting for more, or when it comes back.
    func whenSeen(_ act: @escaping @Sendable () -> Void) {
        let isSo = state.withLock { state in
            let isSo = state.items.isEmpty && (state.waiter != nil || state.isFinished)
            if !isSo { state.watchers.append(Watcher(items: state.items.count, act: act)) }
            return isSo
        }
        if isSo { act() }
    }

    /// Whether the reader is waiting for something to come.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Adds frames. Frames that do not fit are counted, and the next item tells of them. A queue that has
    /// ended takes nothing and counts nothing.
    ///
    /// - Parameters:
    ///   - evenIfFull: Takes the frames whatever the queue holds; the caller stops in time.
    ///   - wakes: Tells a waiting reader; otherwise it waits until `wake`, or until something else comes.
    /// - Returns: False when the frames did not fit.
    func push(_ view: TapView, evenIfFull: Bool = false, wakes: Bool = true) -> Bool {
        let bytes = view.occupiedBytes
        let (fits, waiter) = state.withLock {
            state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard !state.isFinished else { return (true, nil) }
            guard evenIfFull || state.queuedBytes + state.takenBytes + bytes <= maximumBytes
            else {
                state.missedBatches += 1
                return (false, state.miss(view.count, bytes: view.wireBytes))
            }
            state.queuedBytes += bytes
            state.append(.frames(view))
            return (true, wakes ? state.waiter.take() : nil)
        }
        waiter?.resume()
        return fits
    }

    /// Wakes a reader that waits although something is queued.
    func wake() {
        let waiter = state.withLock { $0.items.isEmpty ? nil : $0.waiter.take() }
        waiter?.resume()
    }

    /// Counts frames that were not even collected.
    func miss(_ missed: FrameSum) {
        let waiter = state.withLock { $0.miss(missed.frames, bytes: missed.bytes) }
        waiter?.resume()
    }

    /// Adds an event. One that does not fit is counted like a batch. What `OwedEvents` keeps is told later:
    /// connections, sessions, the state of the link and marks. Bytes that were no frame are told as a count;
    /// what the hub noticed is lost.
    func push(_ event: TapItem, evenIfFull: Bool = false) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isFinished else { return nil }
            let bytes = event.eventBytes
            guard evenIfFull || state.queuedBytes + state.takenBytes + bytes <= maximumBytes
            else {
                state.missedBatches += 1
                if case .bytes(let run) = event {
                    return state.miss(0, bytes: run.bytes.readableBytes)
                }
                state.owed.note(event)
                return state.owed.isEmpty ? nil : state.waiter.take()
            }
            state.queuedBytes += bytes
            state.append(.event(event))
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Ends the queue. No more items will come; what is queued can still be taken.
    package func finish() {
        let (waiter, whenHalfEmpty) = state.withLock { state in
            state.isFinished = true
            state.alarm?.task.cancel()
            return (state.waiter.take(), state.whenHalfEmpty.take())
        }
        waiter?.resume()
        // The callback refers to the queue: if kept, a queue that nobody reads any more would stay for ever.
        whenHalfEmpty?()
    }

    /// Discards what is queued, for a reader that cannot take it in time, and ends the queue.
    ///
    /// - Returns: Frames that nobody will be shown, without those that the reader took last.
    package func abandon() -> Int {
        let (abandoned, watchers) = state.withLock { state in
            defer {
                state.items = []
                state.watchers = []
                state.lent = []
                state.queuedBytes = 0
                state.missedFrames = 0
                state.missedBytes = 0
            }
            let frames = state.items.reduce(state.missedFrames) { sum, item in
                switch item {
                case .frames(let view): sum + view.count
                case .event(.missed(let frames, _)): sum + frames
                case .event: sum
                }
            }
            return (frames, state.watchers)
        }
        finish()
        for watcher in watchers { watcher.act() }
        return abandoned
    }

    /// Takes everything queued, waiting if there is nothing; nil at the end.
    ///
    /// The frames of a batch share storage, also with other queues. Whoever keeps one of them beyond the next
    /// call must copy it; otherwise all of them stay in memory, and the queue no longer counts them.
    ///
    /// - Parameters:
    ///   - patience: How long to wait; an empty batch means that this time is over. It may come early, when
    ///     an earlier call had less patience.
    ///   - bytes: The most to take, except that a first item may be larger.
    package func nextBatch(
        within patience: Duration? = nil, atMost bytes: Int = .max
    ) async -> [TapItem]? {
        if let patience { setAlarm(.now() + TimeAmount(patience)) }
        while true {
            let (items, isFinished) = take(atMost: bytes)
            if let items { return items.map(Self.item) }
            if isFinished { return nil }
            await withCheckedContinuation { continuation in
                let (mayWait, satisfied) = state.withLock { state in
                    guard state.items.isEmpty, !state.hasMissed, state.owed.isEmpty,
                        !state.isFinished, !state.hasRung
                    else { return (false, [Watcher]()) }
                    state.waiter = continuation
                    return (true, state.takeSatisfied())
                }
                if !mayWait { continuation.resume() }
                for watcher in satisfied { watcher.act() }
            }
        }
    }

    /// Everything queued, without waiting.
    func takeAll() -> [TapItem] {
        (take(atMost: .max).items ?? []).map(Self.item)
    }

    private func take(atMost bytes: Int) -> (items: [Item]?, isFinished: Bool) {
        let (taken, whenHalfEmpty, satisfied) = state.withLock { state in
            let satisfied = state.takeSatisfied()
            let taken = state.take(atMost: bytes)
            state.count(taken: taken.items?.count ?? 0)
            let hasRoom = state.isHalfEmpty(of: maximumBytes)
            return (taken, hasRoom ? state.whenHalfEmpty.take() : nil, satisfied)
        }
        whenHalfEmpty?()
        for watcher in satisfied { watcher.act() }
        return taken
    }

    private static func item(_ item: Item) -> TapItem {
        switch item {
        case .frames(let view): .frames(view.frames)
        case .event(let event): event
        }
    }

    /// An alarm is left set when its reason is gone, because requests are answered a thousand times before
    /// one is not; so an idle queue rings once more and then never again.
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
    fileprivate mutating func append(_ item: TapQueue.Item) {
        tellMissed()
        items.append(item)
    }

    /// - Returns: The waiting reader: missed frames are reported at once, because nothing may follow for
    ///   long.
    fileprivate mutating func miss(
        _ frames: Int, bytes: Int
    ) -> CheckedContinuation<Void, Never>? {
        guard !isFinished else { return nil }
        missedFrames += frames
        missedBytes += bytes
        return hasMissed ? waiter.take() : nil
    }

    /// Whether anything was missed. Bytes that were no frame count without a frame.
    fileprivate var hasMissed: Bool { missedFrames > 0 || missedBytes > 0 }

    private mutating func tellMissed() {
        if hasMissed {
            items.append(.event(.missed(frames: missedFrames, bytes: missedBytes)))
            missedFrames = 0
            missedBytes = 0
        }
        for event in owed.take() {
            queuedBytes += event.eventBytes
            items.append(.event(event))
        }
    }

    /// Takes the watchers that wait for nothing still queued, now that the reader is done with what it took.
    fileprivate mutating func takeSatisfied() -> [TapQueue.Watcher] {
        guard !watchers.isEmpty else { return [] }
        let satisfied = watchers.filter { $0.items == 0 }
        watchers.removeAll { $0.items == 0 }
        return satisfied
    }

    fileprivate mutating func count(taken count: Int) {
        for index in watchers.indices {
            watchers[index].items = max(0, watchers[index].items - count)
        }
    }

    fileprivate func isHalfEmpty(of maximumBytes: Int) -> Bool {
        queuedBytes + takenBytes <= maximumBytes / 2
    }

    fileprivate mutating func take(
        atMost bytes: Int
    ) -> (items: [TapQueue.Item]?, isFinished: Bool) {
        reserve?.takeBack(&lent, atMost: takenBytes)
        takenBytes = 0
        // Not only when something is appended, which may be long after a flood.
        tellMissed()
        guard !items.isEmpty else {
            guard hasRung else { return (nil, isFinished) }
            hasRung = false
            return ([], isFinished)
        }
        hasRung = false
        guard queuedBytes > bytes else {
            defer {
                items = []
                takenBytes = queuedBytes
                queuedBytes = 0
            }
            lend(items[...])
            return (items, isFinished)
        }
        var count = 0
        while count < items.count, count == 0 || takenBytes + items[count].bytes <= bytes {
            takenBytes += items[count].bytes
            count += 1
        }
        queuedBytes -= takenBytes
        defer { items.removeFirst(count) }
        lend(items.prefix(count))
        return (Array(items.prefix(count)), isFinished)
    }

    /// Remembers the storage that the reader gets, so that the next batches may have it.
    private mutating func lend(_ items: ArraySlice<TapQueue.Item>) {
        for case .frames(let view) in items {
            guard let reserve = view.reserve else { continue }
            self.reserve = reserve
            lent += view.storage
        }
    }
}
