import RelayCore
import SDLAdvice

/// Limits repeated advice: the same advice passes when it is new, after a minute, and then more and more
/// rarely. Used by `AdviceRules`.
struct AdviceLimiter: Sendable {
    /// A persistent fault is reported again after this time, then after twice as long, and so on: 60 s in
    /// nanoseconds.
    static let firstPause: Int64 = 60_000_000_000
    static let longestPause = 64 * firstPause
    /// A fault that was not seen for this long is new when it comes back: 5 min in nanoseconds.
    static let quiet = 5 * firstPause
    /// Faults remembered at once; when there are more, only those of the last minutes are kept.
    static let maximum = 1024

    private struct Told: Sendable {
        var toldAt: WallTime
        var seenAt: WallTime
        var pause = AdviceLimiter.firstPause
    }

    private var told: [AdviceKey: Told] = [:]

    /// Notes that a fault was found. Information that needs no remedy is passed on once.
    ///
    /// - Returns: Whether to pass the advice on.
    mutating func found(_ key: AdviceKey, at time: WallTime) -> Bool {
        guard var before = told[key] else { return begin(key, at: time) }
        defer { told[key] = before }
        let isBack = Self.elapsed(since: before.seenAt, at: time) >= Self.quiet
        before.seenAt = time
        guard key.code.severity == .warning else { return false }
        guard isBack || Self.elapsed(since: before.toldAt, at: time) >= before.pause else {
            return false
        }
        before.toldAt = time
        before.pause = isBack ? Self.firstPause : min(before.pause * 2, Self.longestPause)
        return true
    }

    private mutating func begin(_ key: AdviceKey, at time: WallTime) -> Bool {
        if told.count >= Self.maximum {
            told = told.filter { Self.elapsed(since: $0.value.seenAt, at: time) < Self.quiet }
            // A thousand different faults in five minutes count as one fault.
            guard told.count < Self.maximum else { return false }
        }
        told[key] = Told(toldAt: time, seenAt: time)
        return true
    }

    /// Forgets something that was not a fault after all.
    mutating func forget(_ key: AdviceKey) {
        told[key] = nil
    }

    /// Forgets the faults of a closed connection: that of an app, or of the link if nil.
    mutating func forget(_ app: AppID?) {
        told = told.filter { $0.key.app != app }
    }

    /// The time since `last`; unlimited after the clock was set back.
    private static func elapsed(since last: WallTime, at now: WallTime) -> Int64 {
        let elapsed = now.nanoseconds &- last.nanoseconds
        return elapsed < 0 ? .max : elapsed
    }
}
