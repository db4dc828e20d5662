import RelayCore
import SDLProtocol

/// Shows the first frame dropped for a reason and sums up those that follow within a second, so that a flood
/// of dropped frames does not flood the log. Used by `TrafficDecoder`.
struct DropCounter: Sendable {
    /// At most one line per second and reason: 1 s in nanoseconds.
    static let interval: Int64 = 1_000_000_000

    struct Key: Hashable, Sendable {
        var app: AppID?
        var direction: Direction
        var reason: DropReason
    }

    struct Sum: Sendable {
        var frames = 0
        var bytes = 0
        var reported: WallTime
    }

    private var sums: [Key: Sum] = [:]

    /// Returns true when the frame is to be shown by itself.
    mutating func count(_ frame: TappedFrame, reason: DropReason) -> Bool {
        let key = Key(app: frame.app, direction: frame.direction, reason: reason)
        guard var sum = sums[key] else {
            sums[key] = Sum(reported: frame.time)
            return true
        }
        sum.frames += 1
        sum.bytes += frame.frame.payloadBytes
        sums[key] = sum
        return false
    }

    /// When `takeDue` next has something to report; nil while nothing was counted.
    var nextDeadline: Int64? {
        sums.values.filter { $0.frames > 0 }
            .map { $0.reported.nanoseconds &+ Self.interval }.min()
    }

    /// Adjusts to a clock that was set forward by this many nanoseconds.
    mutating func shift(by step: Int64) {
        for key in sums.keys {
            guard let sum = sums[key] else { continue }
            sums[key]?.reported = sum.reported.shifted(by: step)
        }
    }

    /// All sums, due or not.
    mutating func takeAll() -> [(Key, Sum)] {
        defer { sums = [:] }
        return Self.sorted(sums.filter { $0.value.frames > 0 }.map { ($0.key, $0.value) })
    }

    private static func sorted(_ sums: [(Key, Sum)]) -> [(Key, Sum)] {
        sums.sorted { ($0.0.app ?? AppID(rawValue: 0)) < ($1.0.app ?? AppID(rawValue: 0)) }
    }

    /// Returns the sums that are due, and forgets those without anything new.
    mutating func takeDue(at now: WallTime) -> [(Key, Sum)] {
        guard !sums.isEmpty else { return [] }
        var due: [(Key, Sum)] = []
        for (key, sum) in sums {
            let elapsed = now.nanoseconds &- sum.reported.nanoseconds
            guard elapsed >= Self.interval || elapsed < 0 else { continue }
            sums[key] = nil
            guard sum.frames > 0 else { continue }
            due.append((key, sum))
            sums[key] = Sum(reported: now)
        }
        return Self.sorted(due)
    }
}
