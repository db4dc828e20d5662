package import Logging
import Synchronization

/// The severity from which relayd's own messages are written: one for the whole process, changeable
/// while it runs. `WriterLogHandler` checks it for every message.
package final class LogThreshold: Sendable {
    /// Index in `Logger.Level.allCases`, which goes from trace to critical.
    private let index: Atomic<Int>

    package init(_ level: Logger.Level) {
        index = Atomic(Self.index(of: level))
    }

    package var level: Logger.Level {
        get { Logger.Level.allCases[index.load(ordering: .relaxed)] }
        set { index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}
