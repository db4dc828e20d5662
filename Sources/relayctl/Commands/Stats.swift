import ArgumentParser
import ControlAPI
import DidYouMean
import SDLProtocol

/// `relayctl stats`: show the counts: traffic, RPCs, failures, latency.
struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show what has been counted: traffic, RPCs, failures, latency.",
        discussion: """
            Traffic by app and service, then RPCs by app, the most frequent first; RPCs whose \
            answer waits for a person (Alert, Speak, PerformInteraction, …) have a table of their \
            own. "Count" is the number of requests or notifications; "Failed" is the number of \
            answers that say that the request was not carried out.

            Times are from request to answer, for all answers since relayd started: 50, 95 and 99 \
            percent of them took at most p50, p95 and p99, which are off by 3.1 % at most; Max is \
            the longest. Requests without an answer are not included.

            With --watch the tables are printed every --interval seconds until ^C, with the bytes \
            per second since the previous table; the times are still those since relayd started.

            With a vehicle interface: its messages and those of its clients, by kind; it has no apps and \
            no RPCs.

            --app and --rpc also apply to JSON; with --app, its "functions", which count all apps \
            together, are left out.

            EXAMPLES
              relayctl stats
              relayctl stats --app radio --watch --interval 5
              relayctl stats --rpc Show --rpc PutFile
              relayctl stats --json | jq '.apps[] | select(.p95_ms > 500 and .waits_for_people != true)'

            \(ExitStatus.codes(ok: "shown", refused: "nothing was counted of such an app; or relayd refused"))
            """)

    @Option(
        help: ArgumentHelp(
            "Only this app: its name or a part of it, in any case. Repeatable.", valueName: "app"))
    var app: [String] = []

    @Option(
        help: ArgumentHelp("Only this RPC, in any case. Repeatable.", valueName: "function"))
    var rpc: [String] = []

    @Flag(name: .shortAndLong, help: "Keep showing it.")
    var watch = false

    @Option(help: ArgumentHelp("With --watch: time between two tables.", valueName: "seconds"))
    var interval = 1.0

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard StatusCommand.intervals.contains(interval) else {
            throw ValidationError(
                "--interval is \(interval); expected seconds from 0.1 to 3600, e.g. --interval 5")
        }
        try Names.check(app, "--app", example: "a name or a part of it")
        try Self.check(functions: rpc)
    }

    /// Refuses functions that are never counted.
    ///
    /// - Throws: `ValidationError`.
    static func check(functions rpc: [String]) throws {
        try Names.check(functions: rpc)
        for name in rpc where !known.contains(where: { Names.areSame($0, name) }) {
            let hint = Spelling.nearest(name, in: known).map { "; did you mean '\($0)'?" }
            throw ValidationError(
                "there is no RPC '\(SafeText.clean(name))', expected a name of the RPC specification such "
                    + "as Show or OnHMIStatus\(hint ?? "")")
        }
    }

    /// The names relayd counts by: those of the specification, and the rest.
    private static let known = FunctionID.all.map(\.name) + ["other"]

    func run() async throws {
        let client = try socket.client()
        let screen = Output.current
        var before: StatsReport?
        repeat {
            let answer = try await client.ask(StatsReport.self, Routes.stats)
            let isNarrowed = !app.isEmpty || !rpc.isEmpty
            let stats =
                isNarrowed ? answer.value.narrowed(toApps: app, functions: rpc) : answer.value
            if isNarrowed, answer.value.vehicle != nil {
                Output.current.write(
                    "relayctl: the accessory is a vehicle interface, which has no apps and no RPCs: leave "
                        + "--app and --rpc out\n", to: .error)
                throw ExitCode(ExitStatus.refused.rawValue)
            }
            if !watch { try checkApps(answer.value) }
            let text = StatsText(
                width: screen.size().columns, rows: watch ? screen.size().rows - 2 : .max,
                style: screen.style(output.color)
            ).render(stats, since: before)
            before = stats
            let whole =
                isNarrowed
                ? String(decoding: try APICoding.encode(stats), as: UTF8.self) : answer.json
            let isInPlace = watch && screen.isScreen && !output.json
            let json = watch ? JSONText.compact(whole) + "\n" : whole
            let shown = output.json ? JSONText.safe(json) : text
            guard screen.write(isInPlace ? "\u{1B}[H\u{1B}[2J" + shown : shown) else { return }
            if watch { try await Task.sleep(for: .seconds(interval)) }
        } while watch
    }

    /// Reports an app that has no counts, which would otherwise look silent.
    private func checkApps(_ stats: StatsReport) throws {
        let counted = Set(stats.traffic.map(\.app) + (stats.apps ?? []).map(\.app)).sorted()
        for name in app where !counted.contains(where: { Names.isPart(name, of: $0) }) {
            let list = counted.map { SafeText.clean($0) }.joined(separator: ", ")
            Output.current.write(
                "relayctl: nothing was counted of an app \"\(SafeText.clean(name))\"; "
                    + "counted: \(list.isEmpty ? "none so far" : list)\n", to: .error)
            throw ExitCode(ExitStatus.refused.rawValue)
        }
    }
}

extension StatsReport {
    /// Only the counts of these apps and functions; an empty list means all.
    func narrowed(toApps names: [String], functions rpcs: [String]) -> StatsReport {
        func isAsked(app: String) -> Bool {
            names.isEmpty || names.contains { Names.isPart($0, of: app) }
        }
        func isAsked(function: String) -> Bool {
            rpcs.isEmpty || rpcs.contains { Names.areSame($0, function) }
        }
        var narrowed = self
        narrowed.traffic = rpcs.isEmpty ? traffic.filter { isAsked(app: $0.app) } : []
        narrowed.functions =
            names.isEmpty ? functions.filter { isAsked(function: $0.function) } : []
        narrowed.apps = apps?.filter { isAsked(app: $0.app) && isAsked(function: $0.function) }
        return narrowed
    }
}
