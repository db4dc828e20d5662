// Writes decoded traffic to the log: selects entries, formats lines, passes them on in batches.

/// The format of lines.
package enum TrafficFormat: String, Hashable, Sendable, CaseIterable {
    case text
    case json
}

/// One finished line, with its entry for the journal.
package struct TrafficLine: Sendable {
    /// UTF-8 without a line end. The only control characters in it are the requested colours.
    package var text: [UInt8]
    package var priority: TrafficPriority
    /// The entry of the line, from which `journalFields` are made.
    package var entry: TrafficEntry
}

/// Formats entries and passes each batch of lines to the writer.
package actor TrafficLog: TrafficConsumer {
    package struct Configuration: Hashable, Sendable {
        package var format: TrafficFormat
        /// ANSI colours in text lines, for terminals.
        package var hasColours: Bool
        package var filter: TrafficFilter
        package var timeZone: LogTimeZone

        package init(
            format: TrafficFormat = .text, hasColours: Bool = false,
            filter: TrafficFilter = .everything, timeZone: LogTimeZone = .local
        ) {
            self.format = format
            self.hasColours = hasColours
            self.filter = filter
            self.timeZone = timeZone
        }
    }

    /// Writes lines somewhere; the next batch waits until it returns.
    package typealias Sink = @Sendable ([TrafficLine]) async -> Void

    private let sink: Sink
    private var formatter: TrafficFormatter

    package init(configuration: Configuration = Configuration(), sink: @escaping Sink) {
        self.sink = sink
        formatter = TrafficFormatter(configuration)
    }

    /// Takes effect from the next batch on.
    package func reconfigure(_ configuration: Configuration) {
        formatter = TrafficFormatter(configuration)
    }

    package func consume(_ entries: [TrafficEntry]) async {
        let lines = formatter.lines(entries)
        guard !lines.isEmpty else { return }
        await sink(lines)
    }
}

/// Filter and format in one: entries in, lines out. `TrafficLog` without the asynchronous part.
package struct TrafficFormatter: Sendable {
    private let configuration: TrafficLog.Configuration
    private var text: TrafficTextFormat
    private var json = TrafficJSONFormat(
        time: .microseconds, maximumParameterBytes: Self.maximumParameterBytes)
    private var line: LineBuilder
    /// The text of the `message` member in a line of JSON.
    private var words = LineBuilder()

    /// Limit for a line of JSON: collectors of container logs cut lines at 16 KiB, and half an object is not
    /// valid.
    private static let maximumParameterBytes = 14 << 10

    package init(_ configuration: TrafficLog.Configuration) {
        self.configuration = configuration
        text = TrafficTextFormat(zone: configuration.timeZone)
        line = LineBuilder(hasColours: configuration.hasColours && configuration.format == .text)
    }

    package mutating func lines(_ entries: [TrafficEntry]) -> [TrafficLine] {
        var lines: [TrafficLine] = []
        lines.reserveCapacity(entries.count)
        for entry in entries where configuration.filter.accepts(entry) {
            line.clear()
            switch configuration.format {
            case .text: text.append(entry, to: &line)
            case .json: appendJSON(entry)
            }
            lines.append(
                TrafficLine(text: Array(line.bytes), priority: entry.priority, entry: entry))
        }
        return lines
    }

    private mutating func appendJSON(_ entry: TrafficEntry) {
        json.append(entry, to: &line)
        text.appendMessage(entry, to: &line, using: &words)
    }
}
