import NIOCore

/// Decides whether the link has to wait for apps that read too slowly, and which of them
/// is closed; carried out by `BackPressure`.
///
/// One link carries the frames of all apps in one order, so whoever waits for a slow app makes the
/// others wait too. In running order, for an app whose socket takes no more:
/// 1. The link is held for it for the grace: a healthy app has only been outrun for a moment.
/// 2. Then the link goes on, and the app's queue grows.
/// 3. From half its limit on, the link is held again while the app takes bytes, but for all apps
///    together at most half of the time and never longer than the grace in one piece.
/// 4. At the limit the app is closed if it has taken nothing, neither in the grace nor lately, or
///    if even that much waiting was not enough.
/// An app that is alone on the link disturbs nobody: the link is held as long as it takes bytes.
struct SlowAppPolicy<App: Hashable> {
    typealias WhenSlow = RelayConfiguration.WhenSlow

    /// What to do about an app whose socket takes no more.
    enum Verdict: Hashable {
        /// The link goes on.
        case go
        case hold
        /// It has taken nothing for so long that nothing will come of it.
        case dropStuck
        /// It takes bytes, but fewer than come, and the link has waited as long as it may.
        case dropBehind
    }

    /// What is seen of an app.
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
        /// It has taken bytes since then, so it is not stuck; it may become so.
        var hasTaken = false
        var isHeld = false
    }

    private var grace: TimeAmount
    private var queueLimit: Int
    private var whenSlow: WhenSlow
    private var slow: [App: Slow] = [:]
    /// For how long the link may be held while more than one app is there; grows at the rate of the
    /// time it is not held, up to the grace.
    private var budget: TimeAmount
    private var budgetAt = NIODeadline.uptimeNanoseconds(0)
    /// The hold that runs is paid from the budget.
    private var isPaid = false

    init(grace: TimeAmount, queueLimit: Int, whenSlow: WhenSlow) {
        self.grace = grace
        self.queueLimit = queueLimit
        self.whenSlow = whenSlow
        budget = grace
    }

    /// Decides by these from the next time on.
    mutating func reconfigure(grace: TimeAmount, queueLimit: Int, whenSlow: WhenSlow) {
        self.grace = grace
        self.queueLimit = queueLimit
        self.whenSlow = whenSlow
        budget = min(budget, grace)
    }

    /// How often an app is polled while the link is held for it: its queue makes no event when
    /// it falls below half its limit. Short beside the grace, long beside a system call.
    static var pollInterval: TimeAmount { .milliseconds(5) }

    private var shortestHold: TimeAmount {
        min(Self.pollInterval, .nanoseconds(grace.nanoseconds / 2))
    }

    /// How long an app that has taken bytes may take none before it counts as stuck. TCP lets us
    /// see its reading in steps only: of a third of the send buffer (up to 1.3 MB), or of a
    /// sixteenth of the receive buffer once that was full. An app that reads 1 MB/s is seen once
    /// in 1.3 s.
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
    /// - Parameter progress: What is seen of an app now.
    /// - Returns: Those to be closed.
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

    /// Pays for the time since it last did.
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
        // A hold that is hardly begun when it is over lets through as much as none.
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
