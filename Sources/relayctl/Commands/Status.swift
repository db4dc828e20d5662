import ArgumentParser
import ControlAPI

/// `relayctl status`: show the state of the chain from head unit to app.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the head unit, the link and the apps.",
        discussion: """
            Shows a line for each part, from the head unit to the apps, then a row per app. When something is \
            broken, the reason and the remedy are below its line. "From app" and "To app" count \
            frames and bytes; "Queue" is what waits because the app reads too slowly.

            EXAMPLES
              relayctl status
              relayctl status --watch
              relayctl status --json | jq .accessory.state
              until relayctl status >/dev/null; do sleep 1; done

            With --watch on a terminal, the text is updated in place until ^C, even while relayd is \
            restarted; in a file or a pipe, a block is written for every change. With --watch \
            --json, every change is one line.

            \(ExitStatus.discussion)
            """)

    @Flag(name: .shortAndLong, help: "Keep the status up to date.")
    var watch = false

    @Option(
        help: ArgumentHelp("With --watch: time between two requests.", valueName: "seconds"))
    var interval = 1.0

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    /// From the shortest interval that is no load of its own to the longest that still counts as
    /// "watching".
    static let intervals = 0.1...3600.0

    func validate() throws {
        guard Self.intervals.contains(interval) else {
            throw ValidationError(
                "--interval is \(interval); expected seconds from 0.1 to 3600, e.g. --interval 5")
        }
    }

    func run() async throws {
        let client = try socket.client()
        let screen = StatusScreen(
            output: .current, isJSON: output.json, style: Output.current.style(output.color))
        guard !watch else {
            let interval = Duration.seconds(interval)
            var watch = StatusWatch(
                screen: screen,
                ask: { () async throws(ControlClientError) in
                    try await client.status()
                }, pause: { try await Task.sleep(for: interval) })
            try await watch.run()
            return
        }
        let status = try await client.status()
        Output.current.write(screen.text(status))
        let exit = ExitStatus(status.value.health)
        if exit != .ok { throw ExitCode(exit.rawValue) }
    }
}

/// A status in the form the user asked for.
struct StatusScreen: Sendable {
    let output: Output
    let isJSON: Bool
    let style: Style

    func text(_ status: ControlClient.Answer<StatusSnapshot>, now: Timestamp = .now) -> String {
        guard !isJSON else { return JSONText.safe(status.json) }
        return StatusText(width: output.size().columns, style: style, now: now)
            .render(status.value)
    }
}
