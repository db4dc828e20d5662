import ArgumentParser
import ControlAPI
import Glibc
import MessageFilters

/// `relayctl top`: the bench on one screen, for people who live in a terminal.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch apps, RPCs, advice and messages on one screen.",
        discussion: """
            Fills the terminal, also over ssh, and keeps up to date: the head unit, apps and RPCs with their \
            rates and latencies, what relayd advises, and the last messages as 'relayctl tail' shows them. \
            It needs a terminal of 40 columns and 10 rows, goes on when relayd is restarted, and leaves the \
            terminal as it was.

              /         filter the messages, in the language of 'relayctl tail'
              f         only what went wrong
              p         hold the list of messages, or let it go on
              ↑ ↓ j k   choose a message; Enter opens it, as 'relayctl show' does
              a         all advice, with what helps
              Esc       back, from whatever it is
              ?         all keys, and what the columns mean
              q         quit

            From app and To app are RPCs per second, Rate is requests or notifications per second, each of \
            the last 5 seconds; p50 and p95 are of the answers of the last minute. Count and Failed are \
            since relayd started.

            A screen has no JSON. What it shows is in that of other commands: 'relayctl status --json', \
            'relayctl stats --json', 'relayctl advice --json' and 'relayctl tail --json'.

            EXAMPLES
              relayctl top
              relayctl top 'app:radio !OnVehicleData'
              ssh -t bench relayctl top

            \(ExitStatus.codes(ok: "somebody pressed q, or the terminal is gone"))
            """)

    @Argument(
        help: ArgumentHelp(
            "Only messages that this filter accepts, such as 'app:radio rpc:On* !ok'. Default: all.",
            valueName: "filter"),
        completion: Completions.filter)
    var filter: [String] = []

    @Flag(help: .hidden)
    var json = false

    @Option(
        help: ArgumentHelp(
            "Colours: auto (unless NO_COLOR is set), always or never.", valueName: "when"))
    var color = ColorChoice.auto

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try FilterArgument.check(filter)
        guard !json else {
            throw ValidationError(
                "top is a screen and has no JSON; ask 'relayctl status --json', 'relayctl stats --json', "
                    + "'relayctl advice --json' or 'relayctl tail --json'")
        }
    }

    func run() async throws {
        let output = Output.current
        guard output.isTerminal, isatty(STDIN_FILENO) == 1 else {
            throw ValidationError(
                "top fills a terminal, and \(output.isTerminal ? "input" : "output") is none; "
                    + "'relayctl status', 'relayctl stats' and 'relayctl tail' write lines anywhere"
            )
        }
        let filter = try FilterArgument.filter(filter)
        let client = try socket.client()
        // While there is a command line to say so on.
        _ = try await client.status()
        let ending: TopSession.Ending
        do throws(TopScreen.Problem) {
            LowPriority.begin()
            let session = try TopSession(
                client: client, style: output.style(color),
                terminal: getenv("TERM").map { String(cString: $0) } ?? "",
                model: TopModel(filter: self.filter.joined(separator: " "), filter: filter))
            ending = await session.run()
        } catch {
            throw ValidationError("top cannot be shown here: \(error)")
        }
        if case .signal(let number) = ending { OwnSignal.send(number) }
    }
}
