import RelayCore

/// Converts the times of a recording to those of a clock that is never set. A value.
///
/// A board without a battery has its clock set while relayd records, by years. And a recording that starts
/// late begins with frames of long ago: the time between them and the others is not replayed.
struct RecordedClock {
    private var now: WallTime?
    /// The latest time by the recording's own clock; nil after frames of long ago.
    private var latest: WallTime?

    /// A longer pause means that the clock was set, or a night; in a replay it takes no time.
    private static let longestPause: Int64 = 3600 * 1_000_000_000
    /// How far two directions may be out of order without the clock having been set back.
    private static let disorder: Int64 = 1_000_000_000

    /// - Parameter time: The time of a frame that passed during the recording.
    mutating func pass(to time: WallTime) -> WallTime {
        let previous = latest ?? time
        let (pause, overflow) = time.nanoseconds.subtractingReportingOverflow(previous.nanoseconds)
        if overflow || !(-Self.disorder..<0).contains(pause) { latest = time }
        guard let now else { return begin(at: time) }
        guard !overflow, (0...Self.longestPause).contains(pause) else { return now }
        let (sum, isTooLate) = now.nanoseconds.addingReportingOverflow(pause)
        let time = isTooLate ? now : WallTime(nanoseconds: sum)
        self.now = time
        return time
    }

    /// - Parameter time: The time of a frame from before the recording.
    mutating func passEarlier(_ time: WallTime) -> WallTime {
        latest = nil
        return now ?? begin(at: time)
    }

    /// The time for entries that say little about it: a file begins with the links and apps that were there.
    func now(orAt time: WallTime) -> WallTime { now ?? time }

    private mutating func begin(at time: WallTime) -> WallTime {
        now = time
        return time
    }
}
