/// Decides when to open the link again, without a clock or files of its own. `LinkSupervisor` tells it what
/// happened and carries out the step it returns.
package struct ReconnectPolicy: Sendable {
    package enum Step: Hashable, Sendable {
        case openNow
        /// Open when this much time has passed, or earlier if the node changes.
        case openAfter(Duration)
        /// Wait for the node to appear: no timer, no wake-ups.
        case awaitNode
    }

    /// What a failed attempt costs, which sets the waits before the next ones.
    package enum Pace: Hashable, Sendable {
        /// It costs others time: the waits grow up to `longestDelay`.
        case standard
        /// It costs next to nothing, as a refusal by this machine does, or the attempt itself was the wait: always
        /// `firstDelay`. Nothing answers now, so the next peer to answer has just started.
        case quick
        /// The peer took the connection and ended it at once: counts as a link that flapped.
        case flapped
    }

    /// The first wait. udev sets a new node's permissions within some ten milliseconds.
    package static let firstDelay: Duration = .milliseconds(50)

    /// The longest wait. Together with the attempt itself it stays below a second, so that a person who has just
    /// fixed the cause need not wait for us. With the jitter this gives 75 to 100 attempts a minute.
    package static let longestDelay: Duration = .milliseconds(800)

    /// The share of a wait that may be taken off at random: several relayds that lost the same head unit must not
    /// come back in step.
    package static let jitter = 0.25

    /// A link that ended sooner than this flapped: opening it again at once would be a busy loop.
    package static let flapLimit: Duration = .seconds(1)

    /// The waits after links that flapped in a row; the last one repeats. A head unit that is restarted over and
    /// over flaps too, but an attempt of quick pace that fails between its runs ends the row. The first waits do
    /// not grow, in case it is back before the next attempt. A link that goes on flapping leads to a forwarder
    /// (ssh, adb, Docker) with no head unit behind it, which accepts and closes for ever.
    package static let flapDelays: [Duration] =
        Array(repeating: firstDelay, count: 3) + [.milliseconds(100), .milliseconds(200)]
        + [.milliseconds(400), longestDelay]

    /// udev sets the permissions of a new node some time after the node appears: 0.2 s on a busy machine. Until
    /// this much time has passed, they count as not set yet.
    package static let settleLimit: Duration = .seconds(2)

    /// How often opening failed since the link was last open and stable.
    package private(set) var attempts = 0

    private enum State {
        /// An attempt is under way since `lastAttempt`.
        case opening
        case open(since: ContinuousClock.Instant)
        /// A timer runs until the instant.
        case backingOff(until: ContinuousClock.Instant)
        /// No timer; the node does not exist.
        case awaitingNode
    }

    private var state = State.opening
    /// The wait after the next failed attempt of standard pace.
    private var nextDelay = Self.firstDelay
    /// The waits still to come after links that flap; empty once only the longest is left.
    private var flapDelays = Self.flapDelays[...]
    /// From 0 to 1.
    private let chance: @Sendable () -> Double
    private var lastAttempt: ContinuousClock.Instant
    /// When the node appeared, or when the link ended: since then the node may have come back unseen.
    private var lastAppearance: ContinuousClock.Instant?

    /// The first attempt starts now.
    ///
    /// - Parameter chance: numbers from 0 to 1; always 0 for the whole wait.
    package init(
        startingAt now: ContinuousClock.Instant,
        chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        lastAttempt = now
        self.chance = chance
    }

    /// Records that an attempt starts, as the last step said.
    package mutating func attemptStarts(at now: ContinuousClock.Instant) {
        state = .opening
        lastAttempt = now
    }

    /// Whether the node may be so new that its permissions are not final.
    package func isNodeSettling(at now: ContinuousClock.Instant) -> Bool {
        lastAppearance.map { now - $0 < Self.settleLimit } ?? false
    }

    package mutating func opened(at now: ContinuousClock.Instant) {
        state = .open(since: now)
    }

    /// Whether the link that is open now has lived long enough to be opened again at once.
    package func isStable(at now: ContinuousClock.Instant) -> Bool {
        guard case .open(let since) = state else { return false }
        return now - since >= Self.flapLimit
    }

    /// - Parameter nodeExists: nil when there is no node that could be watched.
    package mutating func openFailed(
        nodeExists: Bool?, pace: Pace = .standard, at now: ContinuousClock.Instant
    ) -> Step {
        attempts += 1
        if nodeExists == false { return awaitNode() }
        switch pace {
        case .standard:
            defer { nextDelay = min(nextDelay * 2, Self.longestDelay) }
            return backOff(nextDelay, at: now)
        case .quick:
            forgetWaits()
            return backOff(Self.firstDelay, at: now)
        case .flapped:
            return flapped(at: now)
        }
    }

    package mutating func closed(
        nodeExists: Bool?, at now: ContinuousClock.Instant
    ) -> Step {
        guard case .open = state else { return .openNow }
        let stable = isStable(at: now)
        lastAppearance = now
        if stable { restart() }
        if nodeExists == false { return awaitNode() }
        return stable ? .openNow : flapped(at: now)
    }

    /// inotify saw the node come, go or change while we were waiting. Nil: nothing new to do.
    package mutating func nodeChanged(
        exists: Bool, at now: ContinuousClock.Instant
    ) -> Step? {
        switch state {
        case .opening, .open:
            return nil
        case .awaitingNode:
            guard exists else { return nil }
            lastAppearance = now
            return .openNow
        case .backingOff(let until):
            guard exists else { return awaitNode() }
            // Perhaps udev has just fixed the permissions. Each attempt may cause such a change itself, so the
            // first delay always stays between two attempts.
            let earliest = lastAttempt + Self.firstDelay
            if earliest <= now { return .openNow }
            guard earliest < until else { return nil }
            state = .backingOff(until: earliest)
            return .openAfter(earliest - now)
        }
    }

    /// The accessory can connect now, so failures are counted afresh. The waits stay as they are, in case listening
    /// succeeds and then fails at once.
    package mutating func listens() { attempts = 0 }

    /// Resets all waits: a reopen was requested, or the link was stable.
    package mutating func restart() {
        attempts = 0
        forgetWaits()
    }

    private mutating func forgetWaits() {
        nextDelay = Self.firstDelay
        flapDelays = Self.flapDelays[...]
    }

    private mutating func awaitNode() -> Step {
        // The next node to appear is a new device, which deserves quick tries.
        forgetWaits()
        state = .awaitingNode
        return .awaitNode
    }

    private mutating func flapped(at now: ContinuousClock.Instant) -> Step {
        backOff(flapDelays.popFirst() ?? Self.longestDelay, at: now)
    }

    private mutating func backOff(_ delay: Duration, at now: ContinuousClock.Instant) -> Step {
        let shortened = delay * (1 - Self.jitter * chance())
        state = .backingOff(until: now + shortened)
        return .openAfter(shortened)
    }
}
