import ArgumentParser
import DecodedTraces
import NIOCore
import SDLTraffic
import Traces

/// `relayctl trace export`: write the messages of a trace for other programs.
struct TraceExportCommand: AsyncParsableCommand {
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case jsonl, csv
    }

    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the messages of a trace as JSON lines, or vehicle data as CSV.",
        discussion: """
            jsonl prints each message as a line of JSON, as in the control API. csv prints the \
            values in OnVehicleData and in answers to GetVehicleData: one line for each, with time \
            (UTC), app, and a column for each item; parts of objects have their own columns, such \
            as gps.latitudeDegrees, and arrays are JSON. For csv the trace is read twice, so it \
            must be a file.

            EXAMPLES
              relayctl trace export bench.pcapng --format csv > drive.csv
              relayctl trace export bench.pcapng --format csv 'app:radio param.speed>50'
              relayctl trace export bench.pcapng --format jsonl --rpc Show | jq .params.mainField1

            \(TraceCommand.exitCodes)
            """)

    @OptionGroup var trace: TraceArguments

    @Option(help: ArgumentHelp("jsonl or csv.", valueName: "format"))
    var format: Format

    @OptionGroup var choice: ChoiceOptions

    func validate() throws {
        if format == .csv, trace.files.contains("-") {
            throw ValidationError(
                "for csv a trace is read twice, so it must be a file and not standard input")
        }
    }

    func run() async throws {
        let filter = try trace.filter(choice, all: true)
        try TraceFailure.told {
            switch format {
            case .jsonl: try lines(filter)
            case .csv: try table(filter)
            }
        }
    }

    private func lines(_ filter: MessageFilter) throws {
        var formatter = MessageFormatter(.json)
        var page = ByteBuffer()
        func flush() -> Bool {
            defer { page.clear() }
            return Output.current.write(JSONText.safe(String(buffer: page)))
        }
        try visit(filter, isTelling: true) { message in
            formatter.append(message, to: &page)
            page.writeString("\n")
            return page.readableBytes < Self.pageBytes ? true : flush()
        }
        _ = flush()
    }

    private func table(_ filter: MessageFilter) throws {
        var columns = VehicleDataColumns()
        try visit(filter, isTelling: true) { message in
            columns.learn(message)
            return true
        }
        var page = columns.heading
        func flush() -> Bool {
            defer { page = "" }
            return Output.current.write(page)
        }
        try visit(filter, isTelling: false) { message in
            if let row = columns.row(message) { page += row }
            return page.utf8.count < Self.pageBytes ? true : flush()
        }
        _ = flush()
        if columns.left > 0 {
            Output.current.write(
                "relayctl: \(Units.count(columns.left, "value")) left out: there are more than "
                    + "\(VehicleDataColumns.maximum) columns\n", to: .error)
        }
    }

    /// Bytes per write.
    private static let pageBytes = 64 << 10

    /// - Parameters:
    ///   - isTelling: Whether to report files that are not finished.
    ///   - body: Returns false to stop.
    private func visit(
        _ filter: MessageFilter, isTelling: Bool, _ body: (TrafficEntry) -> Bool
    ) throws {
        var files = TraceFiles(trace.files) { path, bytes in
            if isTelling { TraceFailure.tellUnfinished(path, bytes) }
        }
        var messages = TraceMessages(filter)
        func take(_ events: [TraceMessages.Event]) -> Bool {
            for case .message(let message) in events {
                guard body(message) else { return false }
            }
            return true
        }
        while let entry = try files.nextEntry() {
            guard take(messages.receive(entry)) else { return }
        }
        _ = take(messages.finish())
    }
}
