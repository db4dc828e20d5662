// Keeps log lines for a test to look at.

package import Logging
import Synchronization

/// A log handler that keeps every line.
package final class LoggedLines: LogHandler {
    /// One call of a logger.
    package struct Line: Sendable {
        package let level: Logger.Level
        package let message: String
        package let metadata: Logger.Metadata
    }

    private let kept = Mutex<[Line]>([])

    package init() {}

    /// All lines so far, the oldest first.
    package var records: [Line] { kept.withLock { $0 } }

    package var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    package var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    package func log(event: LogEvent) {
        let line = Line(
            level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
        kept.withLock { $0.append(line) }
    }
}
