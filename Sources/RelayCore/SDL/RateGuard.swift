import NIOCore

/// Keeps one session below the rate at which head units end a session; `SDLApp` consults it before
/// it passes on frames that are not for the link.
///
/// Counts the frames of the last second in slots of 100 ms, plus one whole slot, so that no second
/// has more than the limit, wherever it begins.
struct RateGuard {
    static let slotLength: TimeAmount = .milliseconds(100)
    private static let slotCount = 11

    let limit: Int
    private var slots = [Int](repeating: 0, count: RateGuard.slotCount)
    private var sum = 0
    private var current: Int64 = 0

    /// - Parameter limit: Frames in any second; 0 allows all.
    init(limit: Int) {
        self.limit = limit
    }

    /// Counts one more frame if the limit allows it now.
    mutating func allow(at now: NIODeadline) -> Bool {
        guard !isFull(at: now) else { return false }
        count(at: now)
        return true
    }

    private func isFull(at now: NIODeadline) -> Bool {
        guard limit > 0, sum >= limit else { return false }
        // A copy, made only for an app that has reached its limit.
        var counts = self
        counts.advance(to: now)
        return counts.sum >= limit
    }

    private mutating func count(at now: NIODeadline) {
        guard limit > 0 else { return }
        advance(to: now)
        slots[Int(current) % Self.slotCount] += 1
        sum += 1
    }

    /// Counts in each slot at least as many frames as the other guard has counted there.
    mutating func adopt(_ other: RateGuard, at now: NIODeadline) {
        guard limit > 0 else { return }
        var other = other
        advance(to: now)
        other.advance(to: now)
        for index in slots.indices { slots[index] = max(slots[index], other.slots[index]) }
        sum = slots.reduce(0, +)
    }

    static func slot(at now: NIODeadline) -> Int64 {
        Int64(now.uptimeNanoseconds) / slotLength.nanoseconds
    }

    /// When to ask again after a refusal.
    static func nextSlot(after now: NIODeadline) -> NIODeadline {
        .uptimeNanoseconds(UInt64(slot(at: now) + 1) * UInt64(slotLength.nanoseconds))
    }

    private mutating func advance(to now: NIODeadline) {
        let slot = Self.slot(at: now)
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
