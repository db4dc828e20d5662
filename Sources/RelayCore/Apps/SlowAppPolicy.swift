import NIOCore

/// Decides whether the link has to wait for apps that read too slowly, and which of them are closed; carried
/// out by `BackPressure`.
///
/// One link carries the frames of all apps in one order, so waiting for a slow app makes the others wait too.
/// The steps for an app whose socket takes no more:
/// 1. The link is held for it for the grace period: a healthy app has only been outrun for a moment.
/// 2. Then the link goes on, and the app's queue grows.
/// 3. From half its limit on, the link is held again while the app takes bytes, but for all apps together at
///    most half of the time and never longer than the grace period in one piece.
/// 4. At the limit the app is closed if it has taken nothing, neither in the grace period nor lately, or if
///    even that much waiting was not enough.
/// An app that is alone on the link delays no other: the link is held as long as it takes bytes.
struct SlowAppPolicy<App: Hashable> {
    typealias WhenSlow = RelayConfiguration.WhenSlow

    /// What to do about an app whose socket takes no more.
    enum Verdict: Hashable {
        /// The link goes on.
        case go
        case hold
        /// The app has taken nothing for so long that waiting is pointless.
        case dropStuck
        /// The app takes bytes, but fewer than come, and the link has waited as long as it may.
        case dropBehind
    }

    /// What can be seen of an app's reading.
    struct ReadingProgress {
        /// Bytes waiting for it.
        var queued: Int
        /// Bytes it has taken since it connected.
        var taken: UInt64
    }

    private struct Slow {
        /// When its socket last began to take no more.
        var since: NIODeadline
        var taken: UInt64
        var takenAt: NIODeadline
        /// Whether it has taken bytes after `since`. If so, it is not stuck, but may become so.
        var hasTaken = false
        var isHeld = false
    }

    private var grace: TimeAmount
    private var queueLimit: Int
    private var whenSlow: WhenSlow
    private var slow: [App: Slow] = [:]
    /// How long the link may be held while more than one app is connected. Grows by the time in which the
    /// link is not held, up to the grace period.
    private var budget: TimeAmount
    private var budgetAt = NIODeadline.uptimeNanoseconds(0)
    /// Whether the current hold is paid from the budget.
    private var isPaid = false

    init(grace: TimeAmount, queueLimit: Int, whenSlow: WhenSlow) {
        self.grace = grace
        self.queueLimit = queueLimit
        self.whenSlow = whenSlow
        budget = grace
    }

    /// Applies from the next decision on.
    mutating func reconfigure(grace: TimeAmount, queueLimit: Int, whenSlow: WhenSlow) {
        self.grace = grace
        self.queueLimit = queueLimit
        self.whenSlow = whenSlow
        budget = min(budget, grace)
    }

    /// How often an app is polled while the link is held for it: no event tells when its queue falls below
    /// half its limit. Short compared with the grace period, long compared with a system call.
    static var pollInterval: TimeAmount { .milliseconds(5) }

    private var shortestHold: TimeAmount {
        min(Self.pollInterval, .nanoseconds(grace.nanoseconds / 2))
    }

    /// How long an app that has taken bytes may take none before it counts as stuck. TCP shows its reading
    /// only in steps: a third of the send buffer (up to 1.3 MB), or a sixteenth of the receive buffer once
    /// that was full. The reading of an app at 1 MB/s shows once in 1.3 s.
    static var patience: TimeAmount { .seconds(2) }

    private(set) var isLinkHeld = false
    /// When to call `advance`; nil while the link is not held.
    private(set) var nextDeadline: NIODeadline?

    /// The app's socket takes no more although everything possible has been written.
    mutating func blocked(
        _ app: App, _ progress: ReadingProgress, isAlone: Bool, at now: NIODeadline
    ) -> Verdict {
        settle(at: now)
        let verdict = judge(app, progress, isAlone: isAlone, at: now)
        decide(isAlone: isAlone, at: now)
        return verdict
    }

    /// The app has taken enough, or is gone.
    mutating func drained(_ app: App, isAlone: Bool = false, at now: NIODeadline) {
        guard slow[app] != nil else { return }
        settle(at: now)
        slow[app] = nil
        decide(isAlone: isAlone, at: now)
    }

    /// Polls all apps that the link is held for.
    ///
    /// - Parameter progress: The app's progress now.
    /// - Returns: The apps to be closed.
    mutating func advance(
        to now: NIODeadline, isAlone: Bool, progress: (App) -> ReadingProgress
    ) -> [(app: App, verdict: Verdict)] {
        settle(at: now)
        var dropped: [(App, Verdict)] = []
        for (app, state) in slow where state.isHeld {
            let verdict = judge(app, progress(app), isAlone: isAlone, at: now)
            if verdict == .dropStuck || verdict == .dropBehind { dropped.append((app, verdict)) }
        }
        decide(isAlone: isAlone, at: now)
        return dropped
    }

    // MARK: - In this order, each time

    /// Updates the budget for the time since the last call.
    private mutating func settle(at now: NIODeadline) {
        let passed = max(now - budgetAt, .zero)
        budgetAt = max(now, budgetAt)
        if isLinkHeld, isPaid {
            budget = max(budget - passed, .zero)
        } else if !isLinkHeld {
            budget = min(budget + min(passed, grace), grace)
        }
    }

    private mutating func judge(
        _ app: App, _ progress: ReadingProgress, isAlone: Bool, at now: NIODeadline
    ) -> Verdict {
        var state = slow[app] ?? Slow(since: now, taken: progress.taken, takenAt: now)
        if progress.taken > state.taken {
            state.taken = progress.taken
            state.takenAt = now
            state.hasTaken = true
        }
        let isGivenTime = isAlone || whenSlow == .hold || state.hasTaken
        let takesBytes = now - state.takenAt < (isGivenTime ? Self.patience : grace)
        let isFull = progress.queued > queueLimit
        // A hold that ends as soon as it has begun lets through as much as none.
        let needed: TimeAmount = state.isHeld || isFull ? .nanoseconds(1) : shortestHold
        let mayHold = isAlone || whenSlow == .hold || budget >= needed
        let isWorthIt = takesBytes || (isAlone && whenSlow == .hold)
        let isInGrace = now - state.since < grace
        state.isHeld =
            mayHold && isWorthIt && (isAlone || isInGrace || progress.queued >= queueLimit / 2)
        slow[app] = state
        if state.isHeld { return .hold }
        guard isFull else { return .go }
        return takesBytes ? .dropBehind : .dropStuck
    }

    private mutating func decide(isAlone: Bool, at now: NIODeadline) {
        isLinkHeld = slow.values.contains { $0.isHeld }
        isPaid = isLinkHeld && !isAlone && whenSlow == .drop
        guard isLinkHeld else {
            nextDeadline = nil
            return
        }
        nextDeadline = now + (isPaid ? min(Self.pollInterval, budget) : Self.pollInterval)
    }
}
