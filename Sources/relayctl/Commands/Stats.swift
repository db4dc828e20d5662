import ArgumentParser
import ControlAPI

/// `relayctl stats`: show what has been counted: traffic, RPCs, results, latency.
struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show what has been counted: traffic, RPCs, results, latency.",
        discussion: """
            Traffic by app and service, then RPCs, the most frequent first. "Failed" counts responses whose
            result is no success; times are from request to response. With --watch a table follows every
            --interval seconds, until ^C.

            EXAMPLES
              relayctl stats
              relayctl stats --watch --interval 5
              relayctl stats --json | jq '.functions[] | select(.max_ms > 500)'

            \(ExitStatus.codes(ok: "shown"))
            """)

    @Flag(name: .shortAndLong, help: "Keep showing it.")
    var watch = false

    @Option(help: ArgumentHelp("With --watch: time between looks.", valueName: "seconds"))
    var interval = 1.0

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard StatusCommand.intervals.contains(interval) else {
            throw ValidationError(
                "--interval is \(interval); expected seconds from 0.1 to 3600, e.g. --interval 5")
        }
    }

    func run() async throws {
        let client = try socket.client()
        let screen = Output.current
        var before: StatsReport?
        repeat {
            let answer = try await client.ask(StatsReport.self, Routes.stats)
            let text = StatsText(
                width: screen.size().columns, rows: watch ? screen.size().rows - 2 : .max,
                style: screen.style(output.color)
            ).render(answer.value, since: before)
            before = answer.value
            let isInPlace = watch && screen.isTerminal && !output.json
            let json = watch ? JSONText.compact(answer.json) + "\n" : answer.json
            let shown = output.json ? JSONText.safe(json) : text
            guard screen.write(isInPlace ? "\u{1B}[H\u{1B}[2J" + shown : shown) else { return }
            if watch { try await Task.sleep(for: .seconds(interval)) }
        } while watch
    }
}
