// Keeps advice from becoming a flood; used by `TrafficAdvisor`.

import SDLProtocol

/// Lets each code pass once per minute for an app and a cause.
struct AdviceLimiter: Sendable {
    /// A fault that repeats itself is told so often: 60 s in nanoseconds.
    static let interval: Int64 = 60_000_000_000
    /// Faults remembered at once; beyond, those of the last minute are all that is kept.
    static let maximum = 1024

    private struct Key: Hashable {
        var code: AdviceCode
        var app: AppID?
        var cause: String
    }

    private var told: [Key: WallTime] = [:]

    /// True when `advice` is to be told, false when it was told within the last minute.
    mutating func allows(_ advice: Advice) -> Bool {
        let key = Key(code: advice.code, app: advice.app, cause: advice.cause)
        if let last = told[key], Self.isRecent(last, at: advice.time) { return false }
        if told.count >= Self.maximum {
            told = told.filter { Self.isRecent($0.value, at: advice.time) }
            // A thousand different faults in a minute are one fault.
            guard told.count < Self.maximum else { return false }
        }
        told[key] = advice.time
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
