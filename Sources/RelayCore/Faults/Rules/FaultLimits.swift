package import NIOCore

/// The limits of fault rules.
package enum FaultLimits {
    /// Rules that there may be at once.
    package static let rules = 200
    /// A rule's delay with its jitter, and how long `hold` keeps a frame at most.
    package static let longestHold = TimeAmount.minutes(10)
    /// How far ahead `from` and `until` may be.
    package static let longestWindow = TimeAmount.hours(24)
    /// Unicode scalars of a rule's action, the words of an answer included.
    package static let actionLength = 500
    /// Bytes per second: with fewer, a frame would take longer than `longestHold`.
    package static let slowestRate = 250
    package static let fastestRate = 1_000_000_000
    /// How long `reorder` waits for a message to let pass.
    package static let reorderPatience = TimeAmount.seconds(1)
    /// Messages of several frames that rules follow at once; other messages pass.
    static let messages = 1024
    /// Kinds of frames whose rules are remembered; beyond this, all are looked up again.
    static let remembered = 4096
    /// Bytes of JSON that a condition on text or parameters may read, because it is read on the event loop.
    static let jsonBytes = 64 << 10
}
