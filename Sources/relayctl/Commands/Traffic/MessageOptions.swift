import ArgumentParser
import MessageFilters

// Options that several commands about messages share, so that they mean the same everywhere.

/// Selects messages: the options of `tail` and `log`, and of the commands that read traces.
struct ChoiceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only this app: its name, app ID or number (1 or #1). Repeatable.", valueName: "app"),
        completion: Completions.apps)
    var app: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only this function and its answers; with a leading !, all but these. Repeatable.",
            valueName: "function"),
        completion: Completions.functions)
    var rpc: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Only request, response, notification, control, stream, security, encrypted, \
            undecodable, dropped or event. Repeatable.
            """, valueName: "type"),
        completion: Completions.kinds)
    var type: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only control, rpc, audio, video or bulk. Repeatable.", valueName: "service"),
        completion: Completions.services)
    var service: [String] = []

    @Flag(
        help: """
            Only what went wrong: requests that failed and their answers, and what was refused, \
            undecodable, dropped or lost.
            """)
    var failed = false

    @Option(
        help: ArgumentHelp(
            "Only responses that took at least this long: 200ms, 2s.", valueName: "duration"))
    var slowerThan: String?

    func validate() throws {
        try Names.check(apps: app)
        try Names.check(functions: rpc)
        _ = try expression()
    }

    /// The options combined as a filter.
    func expression() throws -> FilterExpression {
        var filters: [FilterExpression] = []
        for app in app { filters.append(try FilterArgument.filter("app", app, of: "--app")) }
        for rpc in rpc {
            let isUnwanted = rpc.hasPrefix("!")
            let name = isUnwanted ? String(rpc.dropFirst()) : rpc
            let function = try FilterArgument.filter("rpc", name, of: "--rpc")
            filters.append(isUnwanted ? function.negated : function)
        }
        for type in type { filters.append(try FilterArgument.filter("kind", type, of: "--type")) }
        for service in service {
            filters.append(try FilterArgument.filter("service", service, of: "--service"))
        }
        if failed { filters.append(FilterExpression(.term(.ok)).negated) }
        if let milliseconds = try latency(), let number = FilterNumber("\(milliseconds)") {
            let answer = try FilterArgument.filter("kind", "response", of: "--slower-than")
            // A separate filter, so that it is not an alternative to the kinds of --type.
            filters.append(
                FilterExpression(
                    .all([
                        .all([
                            answer.root,
                            .term(.number(.milliseconds, .greaterOrEqual, number)),
                        ])
                    ])))
        }
        return FilterArgument.all(filters)
    }

    private func latency() throws -> Int64? {
        guard let slowerThan else { return nil }
        guard let milliseconds = TimeArgument.milliseconds(slowerThan) else {
            let expected =
                TimeArgument.isTooLong(slowerThan)
                ? TimeArgument.tooLong : "expected a duration such as 200ms or 2s"
            throw ValidationError("--slower-than is \"\(slowerThan)\"; \(expected)")
        }
        return milliseconds
    }
}

/// How far back to start: the options of `tail` and `log`.
struct PastOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Start this long ago (30s, 5m, "10 minutes ago") or at this time (10:31, yesterday, \
            "2026-11-21 10:31", 2026-11-21T10:31:07Z).
            """, valueName: "time"))
    var since: String?

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Show at most this many lines of the past, the latest ones.", valueName: "count"))
    var number: Int?

    /// The numbers that relayd accepts; the maximum is more than it ever keeps.
    private static let numbers = 0...10_000_000

    func validate() throws {
        if let since { try Names.check([since], "--since", example: "a time such as 5m or 10:31") }
        if let number, !Self.numbers.contains(number) {
            throw ValidationError("-n is \(number); expected 0 to \(Self.numbers.upperBound)")
        }
    }
}

/// How message lines look: the options of `tail` and `trace show`.
struct LineOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Show parameters under each line, and what is wrong in them.")
    var verbose = false

    @Flag(
        help: """
            Show a request and its answer as one line, when the answer comes; without one, when relayd \
            says so, when the app leaves, or at the end.
            """)
    var pairs = false

    @Flag(help: "Give each message a line of its own on a terminal, too.")
    var noFold = false

    @Flag(help: "Leave out the lines about what is probably wrong.")
    var noAdvice = false

    @Flag(help: "Also show heartbeats and late frames of sessions that have ended.")
    var all = false

    func check(_ output: OutputOptions) throws {
        if output.json, verbose {
            throw ValidationError("--json already shows everything; leave out -v")
        }
        if pairs, output.json || verbose {
            throw ValidationError(
                "--pairs is one line for two messages; leave out \(output.json ? "--json" : "-v")")
        }
    }

    func form(_ output: OutputOptions) -> TailFollower.Form {
        if output.json { return .json }
        if pairs { return .pairs }
        return verbose ? .verbose : .text
    }
}
