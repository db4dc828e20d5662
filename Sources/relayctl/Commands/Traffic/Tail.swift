import ArgumentParser
import ControlAPI
import MessageFilters

/// `relayctl tail`: show the traffic as it happens, and the recent past before it.
struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Show decoded messages as they happen.",
        discussion: """
            One line per message: number, time, app, a sign, name, contents, size and, for an \
            answer, the time it took. It starts with the last 10 messages, or at the time given with \
            --since, and continues until ^C, even while relayd is restarted. 'relayctl show N' prints message N in \
            full, 'relayctl show last' the last one. Lines without an app, function or service, such as link \
            opened, are hidden when you filter by one.

              →  from the app           ✓  an answer: the request was successful
              ←  from the head unit     ✗  an answer: it failed, and why
              ·  from relayd            !  advice: what is probably wrong above

            Advice has no number. It is shown once for each app, code and RPC, then ever more \
            rarely, with how often it was seen. 'relayctl explain' with the code in brackets says \
            more. With --json it is a line of its own with "kind":"advice".

            On a terminal each app has a colour, long lines are cut (-v and 'relayctl show' have \
            everything), and repeated notifications and continuing streams are folded into one \
            line with a count. In a pipe every message has its own line, which is not cut.

            A filter chooses what is shown. Put it in single quotes, because !, >, | and " have a \
            meaning of their own in the shell. Terms side by side must all match; terms with the \
            same key, such as rpc:Show rpc:Alert, are alternatives; | is or, ! is not, brackets \
            group. Names match in part and in any case, or with * and ?.

              app:radio  app:#3           name or app ID, or number of the connection
              rpc:Show  rpc:On*           function, also of what answers it
              ok  !ok                     all went well; something went wrong
              result:REJECTED             result code of the answer
              ms>200  ms>1.5s             time until the answer
              text:"Keep right"  Keep     in the line that is shown, or in the message's JSON
              param.mainField1~Keep       a parameter has this in it; also = != > < >= <=
              kind:request  from:app      also service: priority: bytes> n: corr: session:
              @name                       a filter that was saved; 'relayctl filter' lists them

            The options --app, --rpc, --type, --service, --failed and --slower-than are other \
            spellings of terms: --rpc Show is rpc:Show, and --failed is !ok.

            EXAMPLES
              relayctl tail 'app:radio !ok'
              relayctl tail 'rpc:Show param.mainField1~Keep | rpc:PutFile ms>1s'
              relayctl tail --app "Music" --failed
              relayctl tail --rpc Show --rpc Alert -v
              relayctl tail --rpc '!OnVehicleData' --type request --type notification
              relayctl tail --slower-than 200ms --since 10m --once
              relayctl tail --pairs --rpc '!OnVehicleData'
              relayctl tail --json | jq 'select(.function == "PutFile") | .bulk_bytes'

            Notes about the stream itself, such as missed messages or an unknown app, go to standard \
            error.

            \(ExitStatus.codes(
                ok: "the reader has gone, or --once and everything is shown",
                refused: "relayd keeps no messages (limits.ring is 0), or refused"))
            """)

    @OptionGroup var filter: FilterWords

    @OptionGroup var choice: ChoiceOptions

    @OptionGroup var past: PastOptions

    @OptionGroup var look: LineOptions

    @Flag(name: .shortAndLong, help: "Continue with new messages until ^C. This is the default.")
    var follow = false

    @Flag(help: "End when the past messages are shown.")
    var once = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    /// Number of past lines by default: as many as fit above the next prompt.
    private static let defaultNumber = 10
    /// Time between attempts to reach a relayd that is gone.
    private static let pause = Duration.milliseconds(500)

    func validate() throws {
        if follow, once {
            throw ValidationError("-f continues and --once ends; leave out one of them")
        }
        try FilterArgument.check(filter.words)
        try look.check(output)
        _ = try start()
    }

    func run() async throws {
        let output = Output.current
        let client = try socket.client()
        let wanted = try FilterArgument.filter(filter.words).and(try choice.expression())
        try FilterArgument.checkRelaydTakes(wanted)
        await client.tellUnknown(wanted.askedApps)
        let form = look.form(self.output)
        let (isFolding, isFollowing) = (!look.noFold, !once)
        let hasAdvice = !look.noAdvice
        let style = output.style(self.output.color)
        let (filters, beginning) = (filters(wanted), try start())
        output.follow()
        let show: @Sendable () async throws -> Void = {
            var tail = TailFollower(
                client: client, output: output, form: form, hasAdvice: hasAdvice,
                isFolding: isFolding, style: style, filters: filters, beginning: beginning,
                isFollowing: isFollowing,
                pause: { try await Task.sleep(for: Self.pause) })
            try await tail.run()
        }
        do {
            // Requests without an answer are shown at the end, also when ^C ends the command.
            if form == .pairs, output.isTerminal {
                try await Interrupt.cancels(show)
            } else {
                try await show()
            }
        } catch let error as ControlClientError {
            guard let problem = error.badRequest else { throw error }
            throw ValidationError(problem)
        }
    }

    // MARK: The query

    private func filters(_ wanted: FilterExpression) -> MessageQuery {
        var query = MessageQuery()
        if !wanted.isEverything { query.add(.filter, wanted.description) }
        if !look.all { query.add(.priority, "info") }
        return query
    }

    private func start() throws -> MessageQuery {
        var query = MessageQuery()
        if let since = past.since {
            guard let start = TimeArgument.start(since) else {
                throw ValidationError(
                    "--since is \"\(since)\"; \(TimeArgument.problem(since))")
            }
            query.add(.since, start)
        }
        if let last = past.number ?? (past.since == nil ? Self.defaultNumber : nil) {
            query.add(.last, "\(last)")
        }
        return query
    }
}

extension ControlClientError {
    /// relayd's own words for what it did not understand in the request.
    var badRequest: String? {
        guard case .refused(_, _, 400, _, _, let message) = self else { return nil }
        return message
    }
}
