// What is logged, kept for a test to look at.

import Logging
import Synchronization

/// A log handler that keeps what it is told.
final class LoggedLines: LogHandler {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let kept = Mutex<[Line]>([])
    var records: [Line] { kept.withLock { $0 } }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let line = Line(
            level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
        kept.withLock { $0.append(line) }
    }
}
