import ArgumentParser
import ControlAPI
import MessageFilters

/// `relayctl log-level`: show or change what relayd logs.
struct LogLevelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or change what relayd logs.",
        discussion: """
            Without arguments, it shows level, traffic and filters. A new filter replaces the \
            previous one of its kind; --everything removes all filters. The change lasts until \
            relayd stops.

            --filter takes the language that 'relayctl tail --help' describes; the other filters \
            must match as well. Each line is judged when it is written, so '!ok' logs the answers \
            that failed, without their requests.

            EXAMPLES
              relayctl log-level
              relayctl log-level debug
              relayctl log-level --filter 'app:radio !rpc:On*'
              relayctl log-level --rpc '!OnVehicleData'
              relayctl log-level info --everything

            \(ExitStatus.codes(
                ok: "shown or changed",
                refused: "a value is not understood, or you may not"))
            """)

    @Argument(
        help: ArgumentHelp(
            "relayd's own messages from this level up: error, warning, notice, info, debug, trace.")
    )
    var level: String?

    @Option(help: ArgumentHelp("Whether traffic is logged: on or off.", valueName: "on|off"))
    var traffic: ServerCommand.Wanted?

    @Option(
        help: ArgumentHelp(
            "Only what this filter accepts, such as 'app:radio !rpc:On*'.", valueName: "filter"),
        completion: Completions.filter)
    var filter: String?

    @Option(
        parsing: .singleValue, help: "Only this app: its name, app ID or number; may be repeated.",
        completion: Completions.apps)
    var app: [String] = []

    @Option(
        parsing: .singleValue,
        help: "Only this function or, with !, all but this one; may be repeated.",
        completion: Completions.functions)
    var rpc: [String] = []

    @Option(parsing: .singleValue, help: "Only this service; may be repeated.")
    var service: [String] = []

    @Flag(help: "Log all apps, functions and services, without any filter.")
    var everything = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try Names.check(apps: app)
        try Names.check(functions: rpc)
        try Names.check([level].compactMap(\.self), "<level>", example: "a level such as info")
        try FilterArgument.check([filter].compactMap(\.self))
        if everything, filter != nil || !(app + rpc + service).isEmpty {
            throw ValidationError(
                "--everything lifts the filters; give it or the filters, not both")
        }
    }

    func run() async throws {
        func chosen(_ words: [String]) -> [String]? { words.isEmpty && !everything ? nil : words }
        let expression = try filter.map { try FilterArgument.filter([$0]) }
        let wanted = LogSettings(
            level: level, traffic: traffic.map { $0 == .on },
            filter: expression?.description ?? (everything ? "" : nil), apps: chosen(app),
            functions: chosen(rpc), services: chosen(service))
        let client = try socket.client()
        let answer =
            wanted == LogSettings()
            ? try await client.ask(LogSettings.self, Routes.log)
            : try await client.change(LogSettings.self, "PUT", Routes.log, wanted)
        Output.current.write(output.json ? JSONText.safe(answer.json) : Self.text(answer.value))
        await client.tellUnknown(app.map(AskedApp.init(whole:)) + (expression?.askedApps ?? []))
    }

    private static func text(_ settings: LogSettings) -> String {
        func list(_ words: [String]?) -> String {
            guard let words, !words.isEmpty else { return "all" }
            return words.map(SafeText.clean).joined(separator: ", ")
        }
        return """
            Level      \(SafeText.clean(settings.level ?? "?"))
            Traffic    \(settings.traffic == true ? "on" : "off")
            Filter     \(list(settings.filter.flatMap { $0.isEmpty ? nil : [$0] }))
            Apps       \(list(settings.apps))
            Functions  \(list(settings.functions))
            Services   \(list(settings.services))

            """
    }
}
