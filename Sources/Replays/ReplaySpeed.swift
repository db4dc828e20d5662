package import NIOCore

/// How fast a recording is replayed.
package enum ReplaySpeed: Hashable, Sendable {
    /// 1 is as recorded, 2 twice as fast.
    case factor(Double)
    /// As fast as the conversation allows.
    case maximum

    package static let factors = 0.1...100.0

    /// "max", or a number between 0.1 and 100; nil for anything else.
    package init?(_ text: String) {
        if text == "max" {
            self = .maximum
        } else if let factor = Double(text), Self.factors.contains(factor) {
            self = .factor(factor)
        } else {
            return nil
        }
    }

    /// The replayed duration of a time in the recording.
    ///
    /// - Parameter nanoseconds: Clocks may have been set back: a negative value counts as 0.
    package func scaled(_ nanoseconds: Int64) -> TimeAmount {
        switch self {
        case .maximum: return .zero
        case .factor(let factor):
            let time = Double(max(0, nanoseconds)) / factor
            return .nanoseconds(Int64(min(time, Double(Self.longest))))
        }
    }

    /// 30 days: no replay lasts as long, and a sum of a few does not overflow.
    private static let longest: Int64 = 30 * 24 * 3600 * 1_000_000_000
}
