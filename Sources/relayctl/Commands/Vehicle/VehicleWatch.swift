import ArgumentParser
import ControlAPI

/// `relayctl vi watch`: show the latest values, kept up to date.
struct VehicleWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch signals: a live table with rates and sparklines.",
        discussion: """
            On a terminal, the table is updated in place until ^C. In a file or a pipe, each signal that has \
            come since the last update is one line: time, signal, value and rate. With --json, each \
            update is one line, laid out like GET /v1/vehicle. The sparkline is the last minute, \
            scaled to its least and greatest value.

            EXAMPLES
              relayctl vi watch
              relayctl vi watch vehicle_speed engine_speed --interval 0.2
              relayctl vi watch | grep --line-buffered vehicle_speed

            \(VehicleCommand.exitCodes)
            """)

    @Argument(help: "Only these signals.", completion: Completions.signals)
    var names: [String] = []

    @Option(help: ArgumentHelp("Time between two updates: 0.1 to 3600.", valueName: "seconds"))
    var interval = 1.0

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard StatusCommand.intervals.contains(interval) else {
            throw ValidationError(
                "--interval is \(interval); expected seconds from 0.1 to 3600, e.g. --interval 0.5")
        }
    }

    func run() async throws {
        let client = try socket.client()
        let screen = Output.current
        let isInPlace = screen.isScreen && !output.json
        var watch = VehicleWatch(names: Set(names), style: screen.style(output.color))
        // Any failure of the first request is reported at once; a relayd that goes away later is waited for.
        var answer = try await client.ask(VehicleReport.self, Routes.vehicle)
        screen.follow()
        if isInPlace { screen.write("\u{1B}[H\u{1B}[2J") }
        while true {
            let text =
                output.json
                ? JSONText.safe(JSONText.compact(answer.json)) + "\n"
                : isInPlace
                    ? watch.inPlace(answer.value, size: screen.size())
                    : watch.lines(answer.value)
            guard text.isEmpty || screen.write(text) else { return }
            try await Task.sleep(for: .seconds(interval))
            var isAway = false
            while true {
                do throws(ControlClientError) {
                    answer = try await client.ask(VehicleReport.self, Routes.vehicle)
                    break
                } catch {
                    guard error.exitStatus == .notRunning else { throw error }
                    if isInPlace {
                        guard screen.write(VehicleWatch.repainting("relayctl: \(error)")) else {
                            return
                        }
                    } else if !isAway {
                        // Reported once: relayd may be gone for a night. How requests fail depends on the
                        // moment.
                        screen.write(
                            "relayctl: relayd is gone; waiting for it to come back\n", to: .error)
                    }
                    isAway = true
                }
                try await Task.sleep(for: .seconds(max(interval, 1)))
            }
        }
    }
}

/// Formats successive reports of a vehicle. A value.
struct VehicleWatch {
    let names: Set<String>
    let style: Style
    private var counts: [String: Int] = [:]

    init(names: Set<String>, style: Style) {
        self.names = names
        self.style = style
    }

    private func chosen(_ report: VehicleReport) -> [VehicleMeasurement] {
        names.isEmpty ? report.measurements : report.measurements.filter { names.contains($0.name) }
    }

    /// Repaints without clearing first, which would flicker. Signals that do not fit are left out and
    /// counted.
    func inPlace(_ report: VehicleReport, size: (columns: Int, rows: Int), now: Timestamp = .now)
        -> String
    {
        var shown = report
        shown.measurements = chosen(report)
        let text = VehicleTables(
            width: size.columns, style: style, now: now
        ).watch(shown)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let rows = max(2, size.rows - 1)
        if lines.count > rows {
            let hidden = lines.count - rows + 1
            lines = lines.prefix(rows - 1)
            // A row wider than the screen would take two lines, and the screen would scroll.
            let words = "  … \(hidden) more; name the signals to see only them"
            lines.append(words.shortened(to: size.columns)[...])
        }
        return Self.repainting(lines.joined(separator: "\n"))
    }

    /// - Parameter text: Without the line end of its last line.
    static func repainting(_ text: some StringProtocol) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return "\u{1B}[H" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }

    /// One line for each signal that has arrived since the last report.
    mutating func lines(_ report: VehicleReport, zone: LocalTime = .system) -> String {
        var text = ""
        for measurement in chosen(report) {
            let key = VehicleTables.name(measurement)
            guard counts[key] != measurement.count else { continue }
            counts[key] = measurement.count
            text +=
                "\(zone.exactTimeOfDay(measurement.at))  \(key)  \(VehicleTables.value(measurement))  "
                + "\(VehicleTables.rate(measurement.perSecond))/s\n"
        }
        return text
    }
}
