/// When the flight recorder writes a file by itself. A value, without a clock.
///
/// It waits a moment, so that the file has what followed, and what happens meanwhile is told in the same file.
/// Between two files is a pause; what happens in it is written when it is over, and not lost.
struct SaveSchedule {
    typealias Moment = ContinuousClock.Instant

    /// Why a file is to be written.
    struct Cause: Hashable, Sendable {
        var trigger: SaveTrigger
        /// For people: what happened.
        var words: String
    }

    /// So long a file waits for what follows: apps are closed, and libraries try again.
    static let settling = Duration.seconds(1)
    /// From one file to the next at least, however often something happens.
    static let pause = Duration.seconds(10)
    /// Causes that are told; more are only counted.
    static let maximumCauses = 8

    private var waiting: [Cause] = []
    private var others = 0
    private var latest: Moment?

    /// - Returns: When to write the file; nil when that has been said already.
    mutating func trigger(_ cause: Cause, at now: Moment) -> Moment? {
        if waiting.count < Self.maximumCauses { waiting.append(cause) } else { others += 1 }
        guard waiting.count == 1 else { return nil }
        let settled = now.advanced(by: Self.settling)
        return latest.map { max(settled, $0.advanced(by: Self.pause)) } ?? settled
    }

    /// A file is written now.
    ///
    /// - Returns: Why; empty when nothing has happened.
    mutating func take(at now: Moment) -> (causes: [Cause], others: Int) {
        defer { (waiting, others) = ([], 0) }
        if !waiting.isEmpty { latest = now }
        return (waiting, others)
    }
}
