/// Where the link to the accessory stands, as the status page and `relayctl status` show it. What travels over it
/// is the control API's `LinkState`.
///
/// `LinkSupervisor` reports every change. Instants are taken from the clock that also runs while
/// the machine sleeps.
package enum ConnectionState: Hashable, Sendable {
    /// The first attempt, or the one that `reopen()` asked for, is under way.
    case opening
    /// The transport listens until the accessory connects.
    ///
    /// - at: where, in words.
    case listening(at: String, since: ContinuousClock.Instant)
    /// Bytes flow.
    case open(since: ContinuousClock.Instant)
    /// There is no link. It stays in this state while later attempts run, so that the reason never
    /// disappears from view.
    ///
    /// - reason: why the latest attempt failed, or why the last link ended.
    /// - since: when the last link ended, or when the first attempt failed.
    /// - attempts: how often opening failed since then.
    case waiting(reason: LinkProblem, since: ContinuousClock.Instant, attempts: Int)
    /// The supervisor has ended; there will be no further change.
    case closed
}
