package import Logging

/// relayd's back end of swift-log: formats messages as configured and passes them to the writer.
/// Every `Logger` of the process has one; all write to the same `LineWriter`, so that logging never
/// blocks an event loop.
package struct WriterLogHandler: LogHandler {
    /// The format of a message.
    package enum Format: Sendable, Equatable {
        case text(color: Bool)
        case json
    }

    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    /// The level of this logger alone, if one was set.
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let label: String
    private let format: Format
    private let writer: LineWriter

    /// - Parameter threshold: Shared with all other handlers, so that it can be changed for all.
    package init(label: String, format: Format, threshold: LogThreshold, writer: LineWriter) {
        self.label = label
        self.format = format
        self.threshold = threshold
        self.writer = writer
    }

    package var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        var record = LogRecord(
            time: .now(), level: event.level, label: label, message: "\(event.message)",
            metadata: all)
        record.file = event.file
        record.line = event.line
        record.function = event.function
        let line =
            switch format {
            case .json: record.json
            // journald records time and level itself.
            case .text where writer.isJournal: record.sentence
            case .text(let color): record.text(color: color)
            }
        writer.write(line, priority: SyslogPriority(event.level), fields: record.journalFields)
    }
}
