import RelayCore

/// Tells the times of a recording as a clock does that is never set. A value.
///
/// A board without a battery has its clock set while relayd records, by years. And a recording that begins late
/// begins with frames of long ago: nobody waits for what was between them and the others.
struct RecordedClock {
    private var now: WallTime?
    /// By the clock of the recording; nil behind frames of long ago.
    private var latest: WallTime?

    /// A longer pause is a clock that was set, or a night; in a replay it takes no time.
    private static let longestPause: Int64 = 3600 * 1_000_000_000
    /// What two directions may be out of order; the clock was not set back then.
    private static let disorder: Int64 = 1_000_000_000

    /// - Parameter time: Of a frame that passed while it was recorded.
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

    /// - Parameter time: Of a frame of before the recording.
    mutating func passEarlier(_ time: WallTime) -> WallTime {
        latest = nil
        return now ?? begin(at: time)
    }

    /// When something was that says little of the time: the links and apps of then stand at a file's beginning.
    func now(orAt time: WallTime) -> WallTime { now ?? time }

    private mutating func begin(at time: WallTime) -> WallTime {
        now = time
        return time
    }
}
