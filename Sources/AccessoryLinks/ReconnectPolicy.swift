/// When to open the link again: decisions only, no clock, no files. `LinkSupervisor` tells it what
/// happened and carries out the step it answers.
package struct ReconnectPolicy: Sendable {
    package enum Step: Hashable, Sendable {
        case openNow
        /// Open when this much time has passed, or earlier if the node has news.
        case openAfter(Duration)
        /// Only the node's appearance is worth a try: no timer, no wake-ups.
        case awaitNode
    }

    /// The first wait. udev sets a new node's permissions within some ten milliseconds.
    package static let firstDelay: Duration = .milliseconds(50)

    /// The longest wait: a person who has just fixed the cause should not have to wait for us.
    package static let longestDelay: Duration = .seconds(1)

    /// A link that lived shorter than this flapped: opening it again at once would be a busy loop.
    package static let flapLimit: Duration = .seconds(1)

    /// udev sets the permissions of a new node some time after the node is there: 0.2 s on a busy
    /// machine. Until this much time has passed they count as not set yet.
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
    private var nextDelay = Self.firstDelay
    private var lastAttempt: ContinuousClock.Instant
    /// When the node appeared, or when the link ended, since which it may have come back unseen.
    private var lastAppearance: ContinuousClock.Instant?

    /// The first attempt starts now.
    package init(startingAt now: ContinuousClock.Instant) {
        lastAttempt = now
    }

    /// An attempt starts, as the last step said.
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

    /// - Parameter nodeExists: nil when there is no node that could be watched.
    package mutating func openFailed(
        nodeExists: Bool?, at now: ContinuousClock.Instant
    ) -> Step {
        attempts += 1
        return nodeExists == false ? awaitNode() : backOff(at: now)
    }

    package mutating func closed(
        nodeExists: Bool?, at now: ContinuousClock.Instant
    ) -> Step {
        guard case .open(let since) = state else { return .openNow }
        let stable = now - since >= Self.flapLimit
        lastAppearance = now
        if stable {
            attempts = 0
            nextDelay = Self.firstDelay
        }
        if nodeExists == false { return awaitNode() }
        return stable ? .openNow : backOff(at: now)
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
            // Perhaps udev has just fixed the permissions. Each attempt may cause such news
            // itself, so the first delay always stays between two attempts.
            let earliest = lastAttempt + Self.firstDelay
            if earliest <= now { return .openNow }
            guard earliest < until else { return nil }
            state = .backingOff(until: earliest)
            return .openAfter(earliest - now)
        }
    }

    /// Somebody asked for a new attempt: all waiting starts afresh.
    package mutating func restart() {
        attempts = 0
        nextDelay = Self.firstDelay
    }

    private mutating func awaitNode() -> Step {
        // What appears next is a new device, which deserves quick tries.
        nextDelay = Self.firstDelay
        state = .awaitingNode
        return .awaitNode
    }

    private mutating func backOff(at now: ContinuousClock.Instant) -> Step {
        let delay = nextDelay
        nextDelay = min(delay * 2, Self.longestDelay)
        state = .backingOff(until: now + delay)
        return .openAfter(delay)
    }
}
