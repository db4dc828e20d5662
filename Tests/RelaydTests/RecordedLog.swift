import Logging
import Synchronization

@testable import relayd

/// A log handler that keeps what it is told.
final class RecordedLog: LogHandler {
    private let kept = Mutex<[LogRecord]>([])
    var records: [LogRecord] { kept.withLock { $0 } }

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
        kept.withLock {
            $0.append(
                LogRecord(
                    time: .now(), level: event.level, label: "test", message: "\(event.message)",
                    metadata: event.metadata ?? [:]))
        }
    }
}
