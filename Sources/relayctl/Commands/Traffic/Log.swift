import ArgumentParser
import ControlAPI
import DidYouMean
import Glibc
import MessageFilters
import NIOCore
import SDLProtocol

/// `relayctl log`: what relayd wrote to the journal, by way of journalctl.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show what relayd wrote to the journal, even before its last start.",
        discussion: """
            This runs journalctl; --print-command shows how. The journal has the traffic log and \
            relayd's own messages for as long as journald keeps them. 'relayctl tail' shows the recent \
            past in more detail and does not need the journal. To read the journal, you must be root \
            or in the group systemd-journal.

            The filter language is that of 'relayctl tail'. relayctl applies what journalctl \
            cannot search for to journalctl's output, line by line: ok and !ok judge each line \
            alone, and with -f the lines of -n are counted before the filter. The journal has no \
            parameters, so param. is refused.

            EXAMPLES
              relayctl log --since "1 hour ago"
              relayctl log 'app:radio rpc:Put* ms>200' -n 20
              relayctl log --app "Music" --failed
              relayctl log --rpc Show -f
              relayctl log --warnings --since yesterday
              relayctl log --unit relayd@left --json | jq .MESSAGE

            EXIT CODES
              0   shown
              1   journalctl failed, or is not there; or relayd does not write to the journal
              64  the command line was not understood
            """)

    @OptionGroup var filter: FilterWords

    @Option(
        help: ArgumentHelp(
            "Only this app: its name, app ID or number. Repeatable.", valueName: "app"),
        completion: Completions.apps)
    var app: [String] = []

    @Option(
        help: ArgumentHelp("Only this function. Repeatable.", valueName: "function"),
        completion: Completions.functions)
    var rpc: [String] = []

    @Flag(help: "Only answers that were not successful.")
    var failed = false

    @Flag(help: "Only warnings, errors and advice.")
    var warnings = false

    @Option(
        help: ArgumentHelp(
            "Start at this time, in journalctl's words: \"10 minutes ago\", today, 10:31, \"2026-11-21 10:31\".",
            valueName: "time"))
    var since: String?

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp("Show the last <count> lines.", valueName: "count"))
    var number: Int?

    @Flag(name: .shortAndLong, help: "Continue with new lines until ^C.")
    var follow = false

    @Option(
        help: ArgumentHelp(
            "The service: relayd, relayd@NAME. Default: relayd.", valueName: "unit"))
    var unit: String?

    @Flag(help: "One JSON object per line, with every field.")
    var json = false

    @Flag(help: "Only print the journalctl command.")
    var printCommand = false

    func validate() throws {
        try Names.check(apps: app)
        try Names.check(functions: rpc)
        try Names.check(
            [unit].compactMap(\.self), "--unit", example: "a service such as relayd or relayd@left")
        if let number, number < 0 {
            throw ValidationError("--number is \(number); expected 0 or more")
        }
        try FilterArgument.check(filter.words)
        for name in rpc where Self.function(name) == nil {
            let nearest = Spelling.nearest(name, in: FunctionID.all.map(\.name))
            throw ValidationError(
                "there is no function \"\(name)\""
                    + (nearest.map { "; did you mean \($0)?" } ?? ", such as Show or PutFile"))
        }
    }

    /// The name as it stands in the journal; case does not matter.
    private static func function(_ name: String) -> String? {
        FunctionID.all.first { $0.name.lowercased() == name.lowercased() }?.name
    }

    /// - Throws: `ValidationError` about a term that the journal has nothing to say about.
    func query() throws -> JournalQuery {
        var query = JournalQuery()
        let unit = unit ?? "relayd"
        query.unit = unit.contains(".") ? unit : unit + ".service"
        query.apps = app
        query.functions = rpc.compactMap(Self.function)
        query.failed = failed
        query.warnings = warnings
        query.since = since
        query.lines = number
        query.follows = follow
        query.isJSON = json
        query.filter = try FilterArgument.filter(filter.words)
        if let term = JournalLine.unanswerable(query.filter).first {
            throw ValidationError(
                """
                \(SafeText.clean(term.description)) asks for parameters, and the journal has none; \
                relayctl tail with the same filter looks at the messages that relayd keeps
                """)
        }
        return query
    }

    func run() async throws {
        let query = try query()
        guard !printCommand else {
            Output.current.write(query.shellText + "\n")
            if query.leavesRest {
                Output.current.write(
                    "relayctl: in what that prints relayctl looks for the rest of the filter\n",
                    to: .error)
            }
            return
        }
        if unit == nil, await runsByHand() {
            Output.current.write(
                """
                relayctl: this relayd was started by hand and writes to its terminal; use relayctl \
                tail. For what a service wrote earlier: relayctl log --unit relayd

                """, to: .error)
            throw ExitCode.failure
        }
        guard !query.leavesRest else { return try show(query) }
        // journalctl takes our place: its pager, its exit status, its ^C.
        var words = query.command.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        execvp("journalctl", &words)
        throw Self.cannotBeRun(errno)
    }

    /// Reads what journalctl prints, and shows what the filter accepts.
    private func show(_ query: JournalQuery) throws {
        let output = Output.current
        guard let pipe = popen("exec " + query.shellText, "re") else {
            throw Self.cannotBeRun(errno)
        }
        if follow { output.follow() }
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        // The latest lines, when only so many are wanted.
        var latest: [String] = []
        let limit = follow ? nil : number
        while getline(&line, &room, pipe) > 0, let bytes = line {
            var text = String(cString: bytes)
            if text.hasSuffix("\n") { text.removeLast() }
            guard let entry = JournalLine(text), query.filter.accepts(entry) == true else {
                continue
            }
            let shown = (json ? JSONText.safe(text) : entry.text) + "\n"
            guard let limit else {
                guard output.write(shown) else { break }
                continue
            }
            latest.append(shown)
            // Seldom, because what stays moves.
            if latest.count / 2 > max(1, limit) { latest.removeFirst(latest.count - limit) }
        }
        if let limit { output.write(latest.suffix(limit).joined()) }
        let status = pclose(pipe)
        // As the shell says it of a program that is not there.
        if status == 127 << 8 { throw Self.cannotBeRun(ENOENT) }
        if status != 0 { throw ExitCode.failure }
    }

    private static func cannotBeRun(_ error: Int32) -> ExitCode {
        Output.current.write(
            "relayctl: journalctl cannot be run: \(String(cString: strerror(error)))\n", to: .error)
        return ExitCode.failure
    }

    /// Whether the relayd that answers is not a service of systemd's. One that is not there, or may not be
    /// asked, may have written to the journal earlier.
    private func runsByHand() async -> Bool {
        guard var client = try? SocketOptions.parse([]).client() else { return false }
        client.timeout = .seconds(1)
        guard let status = try? await client.status() else { return false }
        return status.value.relayd.unit == nil
    }
}
