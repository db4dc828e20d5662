import NIOCore
import RelayCore

/// Detects that the machine's clock was set, by comparison with the monotonic clock. Used by
/// `TrafficObserver`.
///
/// Frames are stamped with wall-clock time, because people compare it with other logs. Benches often have a
/// clock without a battery: it jumps by years when the network supplies the time, and all pending requests
/// would seem to have waited for years.
struct ClockStep {
    /// Smaller differences are not a step: slewed clocks drift, and this thread may lose the processor
    /// between two readings. An NTP client steps by more than 0.128 s, and a single latency that is wrong by
    /// less than a second looks like a hiccup of the machine.
    static let minimum: Int64 = 1_000_000_000

    private var difference: Int64?

    /// The nanoseconds by which the clock was set forward since the last call, negative if it was set back;
    /// nil when it was not set.
    mutating func take(wall: WallTime, steady: NIODeadline) -> Int64? {
        // Wraps around only if the clock is set to nonsense.
        let now = wall.nanoseconds &- Int64(clamping: steady.uptimeNanoseconds)
        guard let before = difference else {
            difference = now
            return nil
        }
        let step = now &- before
        guard step.magnitude >= Self.minimum.magnitude else { return nil }
        difference = now
        return step
    }
}

extension WallTime {
    /// The same moment by a clock that was set forward by this many nanoseconds.
    func shifted(by step: Int64) -> WallTime {
        WallTime(nanoseconds: nanoseconds &+ step)
    }
}

extension TapItem {
    /// The item with its times by the present clock, after a step. Times from before the step are recognised
    /// by being nearer to now when shifted.
    func shifted(by step: Int64, now: WallTime) -> TapItem {
        func shifted(_ time: WallTime) -> WallTime {
            let moved = time.shifted(by: step)
            let distance = now.nanoseconds.subtractingReportingOverflow(time.nanoseconds)
            let movedDistance = now.nanoseconds.subtractingReportingOverflow(moved.nanoseconds)
            return movedDistance.partialValue.magnitude < distance.partialValue.magnitude
                ? moved : time
        }
        switch self {
        case .frames(let frames):
            return .frames(
                frames.map { frame in
                    var frame = frame
                    frame.time = shifted(frame.time)
                    return frame
                })
        case .appConnected(let app, let peer, let time):
            return .appConnected(app, peer: peer, time: shifted(time))
        case .appClosed(let app, let reason, let time):
            return .appClosed(app, reason: reason, time: shifted(time))
        case .linkOpened(let number, let address, let time):
            return .linkOpened(number: number, address: address, time: shifted(time))
        case .linkClosed(let reason, let time):
            return .linkClosed(reason: reason, time: shifted(time))
        case .session(let event, let app, let time):
            return .session(event, app, time: shifted(time))
        case .bytes(var run):
            run.time = shifted(run.time)
            return .bytes(run)
        case .missed: return self
        case .noticed(let notice, let app, let time):
            return .noticed(notice, app, time: shifted(time))
        case .noted(let note, let time): return .noted(note, time: shifted(time))
        }
    }
}
