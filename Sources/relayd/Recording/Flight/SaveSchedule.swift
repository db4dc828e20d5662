/// Decides when the flight recorder writes a file automatically. A value, without a clock.
///
/// It waits a moment, so that the file includes what followed; further events meanwhile go into the same file.
/// There is a pause between two files; events during the pause are written at its end, and not lost.
struct SaveSchedule {
    typealias Moment = ContinuousClock.Instant

    /// Why a file is to be written.
    struct Cause: Hashable, Sendable {
        var trigger: SaveTrigger
        /// For people: what happened.
        var words: String
    }

    /// How long a file waits for what follows: apps are closed, and libraries retry.
    static let settling = Duration.seconds(1)
    /// Minimum time from one file to the next, however often something happens.
    static let pause = Duration.seconds(10)
    /// Maximum number of causes listed; further ones are only counted.
    static let maximumCauses = 8

    private var waiting: [Cause] = []
    private var others = 0
    private var latest: Moment?

    /// - Returns: When to write the file; nil if that has been returned already.
    mutating func trigger(_ cause: Cause, at now: Moment) -> Moment? {
        if waiting.count < Self.maximumCauses { waiting.append(cause) } else { others += 1 }
        guard waiting.count == 1 else { return nil }
        let settled = now.advanced(by: Self.settling)
        return latest.map { max(settled, $0.advanced(by: Self.pause)) } ?? settled
    }

    /// A file is written now.
    ///
    /// - Returns: The causes; empty if nothing has happened.
    mutating func take(at now: Moment) -> (causes: [Cause], others: Int) {
        defer { (waiting, others) = ([], 0) }
        if !waiting.isEmpty { latest = now }
        return (waiting, others)
    }
}
