// How fast a session may send: `Switchboard` counts every frame it writes to the link that is no
// stream, and `AppHandler` asks before it passes one on.

import NIOCore

/// A guard for each session number, whoever has it: the head unit counts per session, heartbeats and
/// the frames of messages included (measured with sdl_core 8.2.0), and an app may have several.
struct SessionRates {
    private var guards = ContiguousArray<RateGuard?>(repeating: nil, count: 256)
    /// The link has stood still for so long in all. What was written before arrives with what is
    /// written afterwards, so that time does not count.
    private(set) var stoodFor = TimeAmount.zero
    /// Counts the moments at which the kernel was seen to have taken all that was written.
    private var batch: UInt64 = 0
    /// The link takes no more; from then on.
    private var fullSince: NIODeadline?

    /// Nothing of what had been written went on for some time.
    mutating func linkStood(for time: TimeAmount) {
        stoodFor = stoodFor + time
    }

    /// The kernel has not taken all that was written.
    mutating func linkIsFull(at now: NIODeadline) {
        if fullSince == nil { fullSince = now }
    }

    /// When last looked at, the kernel had not taken all that was written.
    var hasWaited: Bool { fullSince != nil }

    /// The kernel has taken all that was written.
    @inline(__always)
    mutating func linkTookAll() {
        batch &+= 1
    }

    /// The same after some time: frames that waited for it count as of now, because no sooner are they
    /// on their way.
    ///
    /// - Returns: Sessions that have therefore sent all they may for now.
    mutating func linkWentOn(limit: Int, at now: NIODeadline) -> [UInt8] {
        defer {
            fullSince = nil
            linkTookAll()
        }
        guard let since = fullSince, !RateGuard.isSameSlot(since, now) else { return [] }
        return countAgain(limit: limit, at: now)
    }

    /// They count twice for a moment, as of their writing and as of now.
    private mutating func countAgain(limit: Int, at now: NIODeadline) -> [UInt8] {
        guard limit > 0 else { return [] }
        return (UInt8.min...UInt8.max).filter {
            guards[Int($0)]?.countAgain(batch, at: now - stoodFor) ?? false
        }
    }

    /// The link is gone, and another one takes frames from the beginning.
    mutating func linkClosed() {
        fullSince = nil
        batch &+= 1
    }

    /// Whether the session has sent all it may for now.
    mutating func isFull(_ session: UInt8, limit: Int, at now: NIODeadline) -> Bool {
        guard limit > 0 else { return false }
        return guards[Int(session)]?.isFull(at: now - stoodFor) ?? false
    }

    /// Counts one more frame of the session; true when that was the last it may send for now.
    mutating func count(_ session: UInt8, limit: Int, at now: NIODeadline) -> Bool {
        guard limit > 0 else { return false }
        let index = Int(session)
        if guards[index]?.limit != limit { guards[index] = RateGuard(limit: limit) }
        return guards[index]?.count(at: now - stoodFor, batch: batch) ?? false
    }
}

/// Keeps one session below the rate at which head units end a session.
///
/// Counts frames of the last second in slots of 100 ms. A whole slot more than the second is
/// looked at, so that no second, wherever it begins, has more than the limit.
struct RateGuard {
    private static let slotLength: TimeAmount = .milliseconds(100)
    private static let slotCount = 11

    let limit: Int
    private var slots = [Int](repeating: 0, count: RateGuard.slotCount)
    private var sum = 0
    private var current: Int64 = 0
    /// Frames that were counted in the latest batch.
    private var latest = (batch: UInt64.max, frames: 0)

    /// - Parameter limit: Frames in any second; 0 allows all.
    init(limit: Int) {
        self.limit = limit
    }

    /// Counts one more frame if the limit allows it now.
    mutating func allow(at now: NIODeadline) -> Bool {
        guard !isFull(at: now) else { return false }
        _ = count(at: now)
        return true
    }

    mutating func isFull(at now: NIODeadline) -> Bool {
        guard limit > 0, sum >= limit else { return false }
        advance(to: now)
        return sum >= limit
    }

    /// Counts one more frame, also beyond the limit; true when the limit is reached.
    ///
    /// - Parameter batch: Names the frames that may have to be counted again together.
    mutating func count(at now: NIODeadline, batch: UInt64 = 0) -> Bool {
        if latest.batch != batch { latest = (batch, 0) }
        latest.frames += 1
        return count(1, at: now)
    }

    /// Counts the frames of a batch once more; true when there were some and the limit is reached.
    mutating func countAgain(_ batch: UInt64, at now: NIODeadline) -> Bool {
        guard latest.batch == batch, latest.frames > 0 else { return false }
        return count(latest.frames, at: now)
    }

    private mutating func count(_ frames: Int, at now: NIODeadline) -> Bool {
        guard limit > 0 else { return false }
        advance(to: now)
        slots[Int(current) % Self.slotCount] += frames
        sum += frames
        return sum >= limit
    }

    /// Nobody looks between the two.
    static func isSameSlot(_ one: NIODeadline, _ other: NIODeadline) -> Bool {
        nextSlot(after: one) == nextSlot(after: other)
    }

    /// When to ask again after a refusal.
    static func nextSlot(after now: NIODeadline) -> NIODeadline {
        let slot = slotLength.nanoseconds
        return .uptimeNanoseconds(UInt64(Int64(now.uptimeNanoseconds) / slot + 1) * UInt64(slot))
    }

    private mutating func advance(to now: NIODeadline) {
        let slot = Int64(now.uptimeNanoseconds) / Self.slotLength.nanoseconds
        let steps = min(slot - current, Int64(Self.slotCount))
        guard steps > 0 else { return }
        for step in 1...steps {
            let index = Int((slot - steps + step) % Int64(Self.slotCount))
            sum -= slots[index]
            slots[index] = 0
        }
        current = slot
    }
}
