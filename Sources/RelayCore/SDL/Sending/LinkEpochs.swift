// When bytes written to the link have left for the head unit, in steps of a tenth of a second; used by
// `SessionPacing`.

import NIOCore

/// Divides the bytes written to the link into epochs, and tells which of them are over.
///
/// A head unit counts a frame when it arrives, so a second of its count begins when the frame leaves. On a
/// link that stalls or moves in steps, that is long after the frame was written. An epoch is what was written
/// in one slot of 100 ms; it is over one second and one slot after its last byte has left.
///
/// Where no frame has to wait, the kernel takes everything at once, and nobody polls it, an epoch leaves when
/// it is written. Pure: the caller tells the time and what has left.
struct LinkEpochs {
    /// Epochs that are told apart at once. When there are this many, the latest one goes on for longer.
    static let count = 16
    /// Slots that a head unit's second may touch.
    static let window: Int64 = 11

    /// The epoch of bytes written now.
    private(set) var current: Int64 = 0
    /// All epochs up to this one are over.
    private(set) var over: Int64 = -1
    /// All epochs up to this one have left.
    private var left: Int64 = -1
    private var slot: Int64 = 0
    /// Bytes written to the link by the end of each epoch.
    private var ends = ContiguousArray<UInt64>(repeating: 0, count: Self.count)
    /// Slots in which epochs began.
    private var begunIn = ContiguousArray<Int64>(repeating: 0, count: Self.count)
    /// Slots in which epochs left.
    private var leftIn = ContiguousArray<Int64>(repeating: 0, count: Self.count)
    /// What has left is polled in every slot.
    private var isWatched = false
    /// The kernel has not taken all that was written.
    private var isFull = false

    // MARK: - Writing

    /// - Parameter end: Bytes written to the link so far, with those just written.
    @inline(__always)
    mutating func wrote(upTo end: UInt64, at now: NIODeadline) {
        advance(to: now)
        // The current epoch had left but goes on, so it no longer counts as left.
        if left == current { left -= 1 }
        ends[Self.index(current)] = end
    }

    /// Brings the state up to `now`; to be called before the state is read.
    @inline(__always)
    mutating func advance(to now: NIODeadline) {
        let slot = RateGuard.slot(at: now)
        if slot > self.slot { begin(slot) }
    }

    @inline(never)
    private mutating func begin(_ slot: Int64) {
        if !isWatched, !isFull { leave(upTo: current, in: self.slot) }
        self.slot = slot
        end(at: slot)
        open()
    }

    private mutating func open() {
        guard !isCurrentEmpty || current == over else {
            // Nothing was written in the epoch, so it begins now.
            left = min(left, current - 1)
            begunIn[Self.index(current)] = slot
            return
        }
        // One epoch per slot is enough, because epochs that leave in the same slot are over at the same time.
        // Otherwise a link that often fills and empties would use up all epochs, and the current one would
        // have to go on for a second.
        guard begunIn[Self.index(current)] < slot || current == over,
            current - over < Int64(Self.count) - 1
        else { return }
        let end = ends[Self.index(current)]
        current += 1
        ends[Self.index(current)] = end
        begunIn[Self.index(current)] = slot
    }

    private var isCurrentEmpty: Bool {
        current > 0 && ends[Self.index(current)] == ends[Self.index(current - 1)]
    }

    // MARK: - Leaving

    /// How long bytes written now will be on their way, judged by those on their way now: at least this long,
    /// and no more than a slot longer. Zero while nothing is polled.
    var delay: TimeAmount {
        guard isWatched, left < current else { return .zero }
        return RateGuard.slotLength * (slot - begunIn[Self.index(left + 1)])
    }

    /// The kernel has not taken all that was written.
    mutating func linkIsFull() { isFull = true }

    /// The kernel has taken all that was written.
    @inline(__always)
    mutating func linkTookAll(at now: @autoclosure () -> NIODeadline) {
        if isFull { linkWentOn(at: now()) }
    }

    @inline(never)
    private mutating func linkWentOn(at now: NIODeadline) {
        isFull = false
        if !isWatched { leaveAll(at: now) }
    }

    /// Notes the kernel's answer; the kernel will be asked again in every slot.
    ///
    /// - Parameter bytes: Bytes that have left for the head unit, of all that were ever written.
    mutating func polled(left bytes: UInt64, at now: NIODeadline) {
        advance(to: now)
        if !isWatched {
            isWatched = true
            // Epochs that counted as left because nobody polled, and are still on their way.
            while left > over, ends[Self.index(left)] > bytes { left -= 1 }
        }
        while left < current, ends[Self.index(left + 1)] <= bytes {
            leave(upTo: left + 1, in: slot)
        }
        if left == current { open() }
    }

    mutating func stopWatching(at now: NIODeadline) {
        guard isWatched else { return }
        isWatched = false
        if !isFull { leaveAll(at: now) }
    }

    /// Called when the link is gone, and with it what was on its way.
    mutating func linkClosed(at now: NIODeadline) {
        (isFull, isWatched) = (false, false)
        leaveAll(at: now)
    }

    private mutating func leaveAll(at now: NIODeadline) {
        slot = max(slot, RateGuard.slot(at: now))
        leave(upTo: current, in: slot)
        end(at: slot)
        open()
    }

    private mutating func leave(upTo epoch: Int64, in slot: Int64) {
        while left < epoch {
            left += 1
            leftIn[Self.index(left)] = slot
        }
    }

    private mutating func end(at slot: Int64) {
        while over < left, slot - leftIn[Self.index(over + 1)] >= Self.window { over += 1 }
    }

    private static func index(_ epoch: Int64) -> Int { Int(epoch % Int64(count)) }
}

/// Counts the frames that one session has written in each epoch that is not over.
struct EpochCount {
    private var epochs = ContiguousArray<Int>(repeating: 0, count: LinkEpochs.count)
    private(set) var sum = 0
    private var over: Int64 = -1

    mutating func add(in current: Int64, over: Int64) {
        forget(upTo: over)
        epochs[Int(current % Int64(LinkEpochs.count))] += 1
        sum += 1
    }

    mutating func forget(upTo epoch: Int64) {
        guard epoch > over else { return }
        for gone in max(over, epoch - Int64(LinkEpochs.count)) + 1...epoch {
            let index = Int(gone % Int64(LinkEpochs.count))
            sum -= epochs[index]
            epochs[index] = 0
        }
        over = epoch
    }
}
