import ArgumentParser
import ControlAPI
import MessageFilters
import RelayCore
import SDLProtocol
import SDLTraffic
import Traces

/// `relayctl trace cut`: cut out the part of a trace that matters.
struct TraceCutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cut",
        abstract: "Write a part of a trace to a new one.",
        discussion: """
            --from and --to are times, such as 10:31 of the day of the recording or \
            2026-11-23T10:31:07Z, or with a + the time since its beginning: +90s. --app keeps all of an \
            app; the other options and the filter, which are those of 'relayctl tail', keep the messages \
            they accept, and a request with its answer.

            What is needed to understand the rest is kept as well: the links and, for each app in \
            the new trace, its connection, the grants of its services and its registration, even \
            from before --from. Gaps are kept; with a filter, bytes that were no frame are left \
            out. The trace is read twice, so it must be a file.

            EXAMPLES
              relayctl trace cut bench.pcapng --from 10:31 --to 10:33 -o bug.pcapng
              relayctl trace cut bench.pcapng --from +90s --app radio -o bug.pcapng
              relayctl trace cut bench.pcapng 'rpc:PutFile !ok' -o bug.pcapng

            \(TraceCommand.exitCodes)
            """)

    @OptionGroup var trace: TraceArguments
    @OptionGroup var made: NewTraceOptions

    @Option(
        help: ArgumentHelp(
            "Leave out what was before: 10:31, 2026-11-23T10:31:07Z or +90s.", valueName: "time"))
    var from: String?

    @Option(
        help: ArgumentHelp(
            "Leave out what was after: 10:33, 2026-11-23T10:33:00Z or +2m.", valueName: "time"))
    var to: String?

    @OptionGroup var choice: ChoiceOptions

    func validate() throws {
        if trace.files.contains("-") {
            throw ValidationError(
                "a trace is cut in two readings, so it must be a file and not standard input")
        }
        for (name, text) in [("--from", from), ("--to", to)] {
            guard let text, TraceMoment(text) == nil else { continue }
            throw ValidationError(
                "\(name) is \"\(SafeText.clean(text))\"; expected a time such as 10:31, 10:31:07 or "
                    + "2026-11-23T10:31:07Z, or since the beginning of the trace +90s")
        }
    }

    func run() async throws {
        var rest = choice
        rest.app = []
        var ofApps = choice
        (ofApps.rpc, ofApps.type, ofApps.service) = ([], [], [])
        (ofApps.failed, ofApps.slowerThan) = (false, nil)
        let filter = try trace.filter(rest, all: true)
        var appFilter = MessageFilter()
        appFilter.expression = try ofApps.expression()
        try TraceFailure.told {
            var cut = TraceCut(
                trace.files, filter: filter, apps: choice.app.isEmpty ? nil : appFilter,
                from: from.flatMap { TraceMoment($0) }, to: to.flatMap { TraceMoment($0) })
            let sum = try cut.write(to: made.path)
            try made.tell(sum)
            guard sum.frames == 0 else { return }
            Output.current.write(
                "relayctl: no frame is in that part; relayctl trace info shows the apps and times of the "
                    + "trace\n", to: .error)
        }
    }
}
