import ArgumentParser
import ControlAPI
import DidYouMean
import Glibc
import MessageFilters
import NIOCore
import SDLProtocol

/// `relayctl log`: show what relayd wrote to the journal, using journalctl.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show what relayd wrote to the journal, even before its last start.",
        discussion: """
            This runs journalctl; --print-command shows how. The journal has the traffic log and \
            relayd's own messages for as long as journald keeps them. 'relayctl tail' shows the recent \
            past in more detail and does not need the journal. To read the journal, you must be root \
            or in the group systemd-journal.

            The filter language and the options that choose messages and times are those of \
            'relayctl tail'; --since also takes everything that journalctl does. Without -n and --since \
            the whole journal is shown. relayctl applies what journalctl cannot search for to \
            journalctl's output, line by line: ok, !ok and --failed judge each line alone, and with -f \
            the lines of -n are counted before the filter. The journal has no parameters, so param. is \
            refused.

            EXAMPLES
              relayctl log --since 1h
              relayctl log 'app:radio rpc:Put* ms>200' -n 20
              relayctl log --app "Music" --failed
              relayctl log --rpc Show -f
              relayctl log --failed --since yesterday
              relayctl log --unit relayd@left --json | jq .message

            EXIT CODES
              0   shown
              1   journalctl failed, or is not there; or relayd does not write to the journal
              64  the command line was not understood
            """)

    @OptionGroup var filter: FilterWords

    @OptionGroup var choice: ChoiceOptions

    @Flag(help: "Only warnings, errors and advice. In the journal that is the same as --failed.")
    var warnings = false

    @OptionGroup var past: PastOptions

    @Flag(name: .shortAndLong, help: "Continue with new lines until ^C.")
    var follow = false

    @Option(
        help: ArgumentHelp(
            "The service: relayd, relayd@NAME. Default: relayd.", valueName: "unit"))
    var unit: String?

    @Flag(help: "One JSON object per line, with the fields of 'relayctl tail --json'.")
    var json = false

    @Flag(help: "Only print the journalctl command.")
    var printCommand = false

    func validate() throws {
        try Names.check(
            [unit].compactMap(\.self), "--unit", example: "a service such as relayd or relayd@left")
        try FilterArgument.check(filter.words)
    }

    /// - Throws: `ValidationError` for a term that the journal has no data for.
    func query() throws -> JournalQuery {
        var query = JournalQuery()
        let unit = unit ?? "relayd"
        query.unit = unit.contains(".") ? unit : unit + ".service"
        query.warnings = warnings
        query.since = past.since.map { TimeArgument.journalStart($0) }
        query.lines = past.number
        query.follows = follow
        query.isJSON = json
        query.filter = try FilterArgument.filter(filter.words).and(try choice.expression())
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
            let rest =
                [
                    query.leavesRest ? "applies the rest of the filter to what that prints" : nil,
                    json ? "prints it with the fields of 'relayctl tail --json'" : nil,
                ].compactMap(\.self)
            if !rest.isEmpty {
                Output.current.write(
                    "note: 'relayctl log' also \(rest.joined(separator: " and "))\n", to: .error)
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
        guard !query.isRead else { return try show(query) }
        // journalctl replaces this process: its pager, exit status and ^C handling apply.
        var words = query.command.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        execvp("journalctl", &words)
        throw Self.cannotBeRun(errno)
    }

    /// Reads the output of journalctl and shows the lines that the filter accepts.
    private func show(_ query: JournalQuery) throws {
        let output = Output.current
        guard let pipe = popen("exec " + query.shellText, "re") else {
            throw Self.cannotBeRun(errno)
        }
        if follow { output.follow() }
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        // The latest lines, when their number is limited.
        var latest: [String] = []
        let limit = follow ? nil : past.number
        while getline(&line, &room, pipe) > 0, let bytes = line {
            var text = String(cString: bytes)
            if text.hasSuffix("\n") { text.removeLast() }
            guard let entry = JournalLine(text), query.filter.accepts(entry) == true else {
                continue
            }
            let shown = (json ? JSONText.safe(entry.json) : entry.text) + "\n"
            guard let limit else {
                guard output.write(shown) else { break }
                continue
            }
            latest.append(shown)
            // Done rarely, because it moves the remaining lines.
            if latest.count / 2 > max(1, limit) { latest.removeFirst(latest.count - limit) }
        }
        if let limit { output.write(latest.suffix(limit).joined()) }
        let status = pclose(pipe)
        // The shell's exit status for a program that it cannot find.
        if status == 127 << 8 { throw Self.cannotBeRun(ENOENT) }
        if status != 0 { throw ExitCode.failure }
    }

    private static func cannotBeRun(_ error: Int32) -> ExitCode {
        Output.current.write(
            "relayctl: journalctl cannot be run: \(String(cString: strerror(error)))\n", to: .error)
        return ExitCode.failure
    }

    /// Whether the relayd that answers is not a systemd service. Returns false when relayd is absent or
    /// may not be asked, because it may have written to the journal earlier. Waits 5 s for a relayd that
    /// hangs; on a busy machine 1 s was too short.
    private func runsByHand() async -> Bool {
        guard var client = try? SocketOptions.parse([]).client() else { return false }
        client.timeout = .seconds(5)
        guard let status = try? await client.status() else { return false }
        return status.value.relayd.unit == nil
    }
}
