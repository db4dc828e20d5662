/// Tells a disk that takes nothing from one that is slow: it is told of each write, and asked now and then.
/// A value, without a clock.
struct DiskPatience {
    typealias Moment = ContinuousClock.Instant

    /// What is to be said.
    enum News: Equatable {
        /// A write has not ended for so long.
        ///
        /// - Parameter isHolding: Nobody is read until it has.
        case takesNothing(for: Duration, isHolding: Bool)
        /// It goes on, after so long.
        case goesOn(after: Duration)
    }

    /// After how long without progress a disk is said to take nothing.
    let limit: Duration
    /// The write that has not ended.
    private var began: Moment?
    /// The write of which was said that it does not end, and since when.
    private var stall: (since: Moment, saidHolding: Bool)?

    init(limit: Duration) {
        self.limit = limit
    }

    mutating func writeBegins(at now: Moment) { began = now }

    mutating func writeEnds() { began = nil }

    /// Since when the disk takes nothing, if that has been said.
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
