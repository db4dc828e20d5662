import CShims
import Glibc
internal import Logging

// Chooses where log lines go and how they look, once at start. `Daemon` calls `bootstrap` before it
// creates the first `Logger`, and `flush` last of all.

/// The process's two streams of log lines.
package struct LogOutputs: Sendable {
    /// relayd's own messages: standard error, or journald.
    package let messages: LineWriter
    /// Decoded traffic: standard output, or journald.
    package let traffic: LineWriter
    /// The format of relayd's own messages.
    package let messageFormat: WriterLogHandler.Format
    package let trafficFormat: WriterLogHandler.Format
    /// The severity from which relayd's own messages are written.
    package let threshold: LogThreshold

    /// Lines of either stream that could not be written.
    package var missedLines: Int {
        traffic.counters.missed + (messages === traffic ? 0 : messages.counters.missed)
    }

    /// Names the accessory in the field LINK of every entry of the journal: with several relayds on
    /// one machine, and several machines in one journal, it shows which bench an entry is from.
    package func mark(accessory: String) {
        for writer in [messages, traffic] { writer.mark(["LINK": LogText.oneLine(accessory)]) }
    }

    /// Columns of the terminal on which a person reads relayd's messages. Nil if they go to a journal, a
    /// file or a pipe, or are JSON or only warnings.
    var screenColumns: Int? {
        guard case .text = messageFormat, !messages.isJournal, threshold.level <= .notice else {
            return nil
        }
        return StartScreenPrinter.columns(of: STDERR_FILENO)
    }

    /// Whether messages are coloured.
    var hasColours: Bool {
        if case .text(let color) = messageFormat { color } else { false }
    }

    /// Writes lines unchanged among relayd's own messages.
    func show(_ lines: [String]) {
        // In one piece, so that no line of traffic comes between them.
        messages.write(batch: lines.map { (Array($0.utf8), .info) })
    }

    /// Writes out all waiting lines, as long as `EndPatience` allows.
    package func flush() async {
        async let written: Void = traffic.flush()
        if messages !== traffic { await messages.flush() }
        await written
    }
}

/// Sets up logging from the configuration.
package enum LoggingSetup {
    /// Creates the outputs and installs the back end of swift-log; once per process.
    package static func bootstrap(
        _ config: Config.Log, environment: [String: String]
    ) -> LogOutputs {
        let outputs = outputs(for: config, environment: environment)
        LoggingSystem.bootstrap(
            { label, provider -> any LogHandler in
                var handler = WriterLogHandler(
                    label: label, format: outputs.messageFormat, threshold: outputs.threshold,
                    writer: outputs.messages)
                handler.metadataProvider = provider
                return handler
            }, metadataProvider: nil)
        if config.destination == .journald, !outputs.messages.isJournal {
            Logger(label: "log").warning(
                "journald is not running; logging to standard output and standard error")
        }
        return outputs
    }

    /// Only creates the outputs. The descriptors are parameters for the tests.
    package static func outputs(
        for config: Config.Log, environment: [String: String],
        standardOutput: Int32 = STDOUT_FILENO, standardError: Int32 = STDERR_FILENO,
        journalIsAvailable: Bool = Journal.isAvailable
    ) -> LogOutputs {
        let isJSON = config.format == .json
        let notice = isJSON ? LineWriter.jsonNotice : LineWriter.textNotice

        func writer(_ descriptor: Int32) -> LineWriter {
            let isJournal =
                switch config.destination {
                case .terminal: false
                case .journald: journalIsAvailable
                case .auto: Journal.isStream(descriptor, environment: environment)
                }
            return LineWriter(
                isJournal ? .journald : .descriptor(descriptor), missedNotice: notice)
        }
        func format(_ descriptor: Int32, _ writer: LineWriter) -> WriterLogHandler.Format {
            if isJSON { return .json }
            return .text(
                color: !writer.isJournal
                    && wantsColor(config.color, descriptor, environment: environment))
        }

        let traffic = writer(standardOutput)
        // One writer if both streams end in the same place: it keeps the lines in order.
        let shared =
            isSameFile(standardOutput, standardError)
            || (traffic.isJournal && config.destination == .journald)
        let messages = shared ? traffic : writer(standardError)
        return LogOutputs(
            messages: messages, traffic: traffic,
            messageFormat: format(standardError, messages),
            trafficFormat: format(standardOutput, traffic), threshold: LogThreshold(config.level))
    }

    /// Whether lines to this descriptor are coloured.
    package static func wantsColor(
        _ color: Config.Log.Color, _ descriptor: Int32, environment: [String: String]
    ) -> Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto:
            // no-color.org: any value but the empty one switches colour off.
            (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
                && isatty(descriptor) == 1
        }
    }

    private static func isSameFile(_ first: Int32, _ second: Int32) -> Bool {
        var (device, inode) = (UInt64(0), UInt64(0))
        var (otherDevice, otherInode) = (UInt64(0), UInt64(0))
        guard relay_file_identity(first, &device, &inode) == 0,
            relay_file_identity(second, &otherDevice, &otherInode) == 0
        else { return false }
        return device == otherDevice && inode == otherInode
    }
}
