// Keeps advice from becoming a flood; used by `AdviceRules`.

import SDLProtocol

/// Lets each code pass once per minute for an app and a cause.
struct AdviceLimiter: Sendable {
    /// A fault that repeats itself is told so often: 60 s in nanoseconds.
    static let interval: Int64 = 60_000_000_000
    /// Faults remembered at once; beyond, those of the last minute are all that is kept.
    static let maximum = 1024

    private var told: [AdviceKey: WallTime] = [:]

    /// True when it is to be told, false when it was told within the last minute.
    mutating func allows(_ key: AdviceKey, at time: WallTime) -> Bool {
        if let last = told[key], Self.isRecent(last, at: time) { return false }
        if told.count >= Self.maximum {
            told = told.filter { Self.isRecent($0.value, at: time) }
            // A thousand different faults in a minute are one fault.
            guard told.count < Self.maximum else { return false }
        }
        told[key] = time
        return true
    }

    mutating func forget(_ app: AppID) {
        told = told.filter { $0.key.app != app }
    }

    private static func isRecent(_ last: WallTime, at now: WallTime) -> Bool {
        let elapsed = now.nanoseconds &- last.nanoseconds
        return elapsed >= 0 && elapsed < interval
    }
}
