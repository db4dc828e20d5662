// Who must stop reading, and why: decisions of back pressure, carried out by `Switchboard`.

import NIOCore

/// Decides whether the link has to wait for apps that do not take what it brings.
///
/// An accessory may outrun a healthy app for a moment, so the link is held for a short time
/// first. An app that still does not read is lagging: the link goes on for the others while that
/// app's queue grows up to its limit. A lone app may hold the link as long as it makes progress.
struct FlowControl<App: Hashable> {
    private let grace: TimeAmount
    /// Until when the link is held for an app.
    private var holding: [App: NIODeadline] = [:]
    private var lagging: Set<App> = []

    init(grace: TimeAmount) {
        self.grace = grace
    }

    var isLinkHeld: Bool { !holding.isEmpty }
    var nextDeadline: NIODeadline? { holding.values.min() }
    func isLagging(_ app: App) -> Bool { lagging.contains(app) }

    /// The app's queue is over its mark although everything possible has been written.
    mutating func blocked(_ app: App, at now: NIODeadline) {
        guard holding[app] == nil, !lagging.contains(app) else { return }
        holding[app] = now + grace
    }

    /// The app has taken enough.
    mutating func drained(_ app: App) {
        holding[app] = nil
        lagging.remove(app)
    }

    /// Ends the holds that are over.
    ///
    /// - Parameter mayExtend: The app is alone on the link and has read since it was asked last.
    mutating func advance(to now: NIODeadline, mayExtend: (App) -> Bool) {
        for (app, until) in holding where until <= now {
            if mayExtend(app) {
                holding[app] = now + grace
            } else {
                holding[app] = nil
                lagging.insert(app)
            }
        }
    }
}

/// Keeps one app below the rate at which head units end a session.
///
/// Counts frames of the last second in slots of 100 ms. A whole slot more than the second is
/// looked at, so that no second, wherever it begins, has more than the limit.
struct RateGuard {
    private static let slotLength: TimeAmount = .milliseconds(100)
    private static let slotCount = 11

    private let limit: Int
    private var slots = [Int](repeating: 0, count: RateGuard.slotCount)
    private var sum = 0
    private var current: Int64 = 0

    /// - Parameter limit: Frames in any second; 0 allows all.
    init(limit: Int) {
        self.limit = limit
    }

    /// Counts one more frame if the limit allows it now.
    mutating func allow(at now: NIODeadline) -> Bool {
        guard limit > 0 else { return true }
        advance(to: now)
        guard sum < limit else { return false }
        slots[Int(current) % Self.slotCount] += 1
        sum += 1
        return true
    }

    /// When to ask again after a refusal.
    func nextSlot(after now: NIODeadline) -> NIODeadline {
        let slot = Self.slotLength.nanoseconds
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
