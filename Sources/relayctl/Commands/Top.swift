import ArgumentParser
import ControlAPI
import Glibc
import MessageFilters

/// `relayctl top`: the bench on one screen, in a terminal.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch apps, RPCs, advice and messages on one screen.",
        discussion: """
            One screen that stays up to date, also over ssh: the head unit, apps and RPCs with their rates \
            and latencies, relayd's advice, and the latest messages as 'relayctl tail' shows them. It needs a \
            terminal of at least 40 columns and 10 rows, carries on when relayd is restarted, and leaves the \
            terminal as it found it.

              /         filter the messages, in the language of 'relayctl tail'
              f         only what went wrong
              p         pause the list of messages, or resume it
              ↑ ↓ j k   choose a message; Enter opens it, as 'relayctl show' does
              a         all advice, and what to do about it
              Esc       go back
              ?         all keys, and what the columns mean
              q         quit

            From app and To app are RPCs per second, Rate is requests or notifications per second, all \
            averaged over the last 5 seconds; p50 and p95 cover the answers of the last minute. Count and \
            Failed count from when relayd started.

            top has no JSON. Other commands have the same facts: 'relayctl status --json', \
            'relayctl stats --json', 'relayctl advice --json' and 'relayctl tail --json'.

            EXAMPLES
              relayctl top
              relayctl top 'app:radio !OnVehicleData'
              ssh -t bench relayctl top

            \(ExitStatus.codes(ok: "you pressed q, or the terminal was closed"))
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
                "top needs a terminal, and standard \(output.isTerminal ? "input" : "output") is not one; "
                    + "'relayctl status', 'relayctl stats' and 'relayctl tail' do without"
            )
        }
        let filter = try FilterArgument.filter(filter)
        let client = try socket.client()
        // Reports a failure on the command line, before the screen is taken over.
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
