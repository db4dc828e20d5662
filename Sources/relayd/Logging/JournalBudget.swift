/// Keeps relayd below the rate at which journald drops entries of a service. A value; `LineWriter`
/// asks it for each entry.
///
/// journald accepts 10,000 entries in 30 s from one service (journald.conf(5), "RateLimitBurst")
/// and drops the rest whatever it is, even warnings. The windows here are shorter, because the
/// start of journald's is unknown: any 30 s touch at most seven of them, 7 × 1400 = 9800.
///
/// `LogRateLimitBurst=` in the unit would not replace it: with a larger limit, journald still drops warnings with
/// the rest; without a limit, a flood of traffic pushes older entries of all services out of the journal.
package struct JournalBudget: Sendable {
    package static let window = Duration.seconds(5)
    package static let entriesPerWindow = 1400
    /// The part of these that only warnings and errors may use.
    package static let reserve = 100

    /// What happens to an entry.
    package enum Verdict: Sendable, Equatable {
        case write
        /// The first entry left out in this window.
        case startLeavingOut
        case leaveOut
        /// Written, the first after this many were left out.
        case writeAfter(leftOut: Int)
    }

    private var windowEnd: ContinuousClock.Instant?
    private var used = 0
    private var leftOut = 0
    /// Whether leaving out entries has been announced.
    private var isAnnounced = false

    package init() {}

    package mutating func take(
        _ priority: SyslogPriority, at now: ContinuousClock.Instant
    ) -> Verdict {
        if windowEnd.map({ now >= $0 }) ?? true {
            windowEnd = now + Self.window
            used = 0
        }
        let limit = Self.entriesPerWindow - (priority <= .warning ? 0 : Self.reserve)
        guard used < limit else {
            leftOut += 1
            defer { isAnnounced = true }
            return isAnnounced ? .leaveOut : .startLeavingOut
        }
        used += 1
        // While ordinary entries are left out, warnings pass and counting continues.
        guard isAnnounced, used <= Self.entriesPerWindow - Self.reserve else { return .write }
        defer { (leftOut, isAnnounced) = (0, false) }
        return .writeAfter(leftOut: leftOut)
    }
}
