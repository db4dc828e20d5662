/// Distinguishes a stalled disk from a slow one: it is told of each write, and asked from time to time. A
/// value, without a clock.
struct DiskPatience {
    typealias Moment = ContinuousClock.Instant

    /// A change to report.
    enum News: Equatable {
        /// A write has not ended for this long.
        ///
        /// - Parameter isHolding: Whether the traffic waits until it ends.
        case takesNothing(for: Duration, isHolding: Bool)
        /// Writing continues, after this long.
        case goesOn(after: Duration)
    }

    /// Time without progress after which a disk is reported as stalled.
    let limit: Duration
    /// Start of the write in progress.
    private var began: Moment?
    /// The write that was reported as stalled: its start, and whether it was said that traffic is
    /// held up.
    private var stall: (since: Moment, saidHolding: Bool)?

    init(limit: Duration) {
        self.limit = limit
    }

    mutating func writeBegins(at now: Moment) { began = now }

    mutating func writeEnds() { began = nil }

    /// When the disk stalled, if that has been reported.
    var stalledSince: Moment? { stall?.since }

    /// - Parameter isHolding: Whether the traffic waits for the disk.
    mutating func look(at now: Moment, isHolding: Bool) -> News? {
        if let stall, began != stall.since {
            self.stall = nil
            return .goesOn(after: stall.since.duration(to: now))
        }
        guard let began, began.duration(to: now) >= limit else { return nil }
        if let stall, stall.saidHolding || !isHolding { return nil }
        stall = (began, isHolding)
        return .takesNothing(for: began.duration(to: now), isHolding: isHolding)
    }
}
