// How fast a session may send: `Switchboard` counts every frame it writes to the link that is no
// stream, and `AppHandler` asks before it passes one on.

import NIOCore

/// A guard for each session number, whoever has it: the head unit counts per session, heartbeats and
/// the frames of messages included (measured with sdl_core 8.2.0), and an app may have several.
struct SessionRates {
    private var guards = ContiguousArray<RateGuard?>(repeating: nil, count: 256)
    /// The link has stood still for so long in all. What was written before arrives with what is
    /// written afterwards, so that time does not count.
    private var stoodFor = TimeAmount.zero

    /// Nothing of what had been written went on for some time.
    mutating func linkStood(for time: TimeAmount) {
        stoodFor = stoodFor + time
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
        return guards[index]?.count(at: now - stoodFor) ?? false
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
        guard limit > 0 else { return false }
        advance(to: now)
        return sum >= limit
    }

    /// Counts one more frame, also beyond the limit; true when the limit is reached.
    mutating func count(at now: NIODeadline) -> Bool {
        guard limit > 0 else { return false }
        advance(to: now)
        slots[Int(current) % Self.slotCount] += 1
        sum += 1
        return sum >= limit
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
