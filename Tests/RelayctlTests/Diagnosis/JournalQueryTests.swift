import ArgumentParser
import MessageFilters
import Testing

@testable import relayctl

// `relayctl log` as a journalctl command line.

@Suite("relayctl log")
struct JournalQueryTests {
    private func command(_ arguments: String...) async throws -> String {
        try await LogCommand.asyncParse(arguments).query().shellText
    }

    @Test("everything of the service, when nothing else is said")
    func everything() async throws {
        #expect(
            try await command()
                == "journalctl --unit=relayd.service --output=short --no-hostname")
    }

    @Test("functions and failures are fields; the spelling of functions does not matter")
    func fields() async throws {
        #expect(
            try await command("--rpc", "show", "--rpc", "PutFile", "--failed").hasSuffix(
                " SDL_FUNCTION=Show SDL_FUNCTION=PutFile PRIORITY=0 PRIORITY=1 PRIORITY=2 "
                    + "PRIORITY=3 PRIORITY=4"))
    }

    @Test(
        "options that choose messages mean what they mean to tail",
        arguments: [
            (["--app", "radio"], true), (["--app", "r-1"], true), (["--app", "#3"], true),
            (["--app", "3"], true), (["--app", "Maps"], false), (["--type", "response"], true),
            (["--type", "request"], false), (["--service", "rpc"], true),
            (["--slower-than", "5ms"], true), (["--slower-than", "6ms"], false),
            (["--failed"], true), (["--rpc", "!Show"], false), (["--rpc", "!Alert"], true),
            (["--app", "radio", "kind:request"], false),
        ])
    func options(arguments: [String], isShown: Bool) async throws {
        let line = try #require(JournalLine(Self.refusal))
        let filter = try await LogCommand.asyncParse(arguments).query().filter
        #expect((filter.accepts(line) == true) == isShown)
        let tail = try await TailCommand.asyncParse(arguments)
        #expect(
            try filter
                == FilterArgument.filter(tail.filter.words).and(tail.choice.expression()))
    }

    @Test("time, count, following, JSON and the instance go through")
    func options() async throws {
        #expect(
            try await command(
                "--since", "1 hour ago", "-n", "5", "-f", "--json", "--unit", "relayd@left",
                "--warnings")
                    == """
                    journalctl --unit=relayd@left.service --output=json '--since=1 hour ago' --lines=5 \
                    --follow --priority=warning
                    """)
    }

    @Test(
        "times are typed as for tail; what only journalctl knows is left to it",
        arguments: [
            ("30s", "-30s"), ("1.5s", "-1.5s"), ("2026-11-21T10:31:07Z", "2026-11-21 10:31:07 UTC"),
            ("2026-11-21T10:31:07.5Z", "2026-11-21 10:31:07.500 UTC"), ("today", "today"),
            ("10 minutes ago", "10 minutes ago"), ("Mon 10:00", "Mon 10:00"),
        ])
    func since(typed: String, given: String) async throws {
        #expect(try await LogCommand.asyncParse(["--since", typed]).query().since == given)
    }

    @Test("a count that is none is refused as tail refuses it", arguments: ["log", "tail"])
    func number(command: String) async {
        let recorder = Recorder()
        let code = await RelayCtl.execute([command, "-n", "10000001"], output: recorder.output())
        #expect(
            code == 64 && recorder.text(.error).contains("-n is 10000001; expected 0 to 10000000"))
    }

    @Test("a quote in a word stays in the word")
    func quotes() async throws {
        #expect(try await command("--since", "it's").contains(#"'--since=it'\''s'"#))
    }

    @Test("a function that does not exist is refused with the nearest that does")
    func unknownFunction() async {
        let error = await #expect(throws: (any Error).self) {
            try await LogCommand.asyncParse(["--rpc", "Shw"])
        }
        #expect(error.map { LogCommand.message(for: $0) }?.contains("did you mean 'Show'?") == true)
    }

    @Test(
        "of a filter journalctl is given what it can look for",
        arguments: [
            ("rpc:show kind:request", " SDL_FUNCTION=Show SDL_KIND=request", false),
            ("rpc:Show rpc:Alert from:unit", " SDL_FUNCTION=Alert SDL_FROM=accessory", false),
            (
                "!ok corr:12",
                " SDL_CORRELATION_ID=12 PRIORITY=0 PRIORITY=1 PRIORITY=2 PRIORITY=3 PRIORITY=4",
                false
            ),
            ("!ok priority:error", " PRIORITY=0 PRIORITY=1 PRIORITY=2 PRIORITY=3", false),
            ("ok priority:error", " --output=json", true),
            ("app:radio rpc:Show", " SDL_FUNCTION=Show", true),
            ("rpc:Show | rpc:Alert", " --output=json", true),
            ("ms>200", " --output=json", true), ("Keep", " --output=json", true),
        ])
    func filter(text: String, end: String, leavesRest: Bool) async throws {
        let query = try await LogCommand.asyncParse([text]).query()
        #expect(query.shellText.hasSuffix(end))
        #expect(query.leavesRest == leavesRest)
        #expect(query.shellText.contains("--output=json") == leavesRest)
    }

    @Test("lines are counted behind what is left of a filter, but not while following")
    func counted() async throws {
        #expect(try await !command("app:radio", "-n", "5").contains("--lines"))
        #expect(try await command("app:radio", "-n", "5", "-f").contains("--lines=5"))
        #expect(try await command("rpc:Show", "-n", "5").contains("--lines=5"))
    }

    @Test("parameters are not in the journal, and that is said") func parameters() async {
        await #expect {
            try await LogCommand.asyncParse(["rpc:Show param.mainField1~Keep"]).query()
        } throws: { error in
            "\(error)".contains(#"param.mainField1~"Keep" asks for parameters"#)
        }
    }

    @Test(
        "a line of the journal is judged by its fields",
        arguments: [
            ("app:radio", true), ("app:#3", true), ("app:#4", false), ("rpc:Show", true),
            ("result:invalid*", true), ("ms>4", true), ("ms>5", false), ("!ok", true),
            ("priority:warning", true), ("priority:error", false), ("kind:response", true),
            ("from:unit", true), ("from:app", false), ("service:rpc", true), ("n:17", true),
            ("corr:2 bytes>90", true), ("\"is wrong\"", true), ("text:nothing", false),
            ("app:radio !rpc:Show", false), ("session:1 | app:maps", true),
        ])
    func judged(text: String, isShown: Bool) async throws {
        let line = try #require(JournalLine(Self.refusal))
        let filter = try await LogCommand.asyncParse([text]).query().filter
        #expect((filter.accepts(line) == true) == isShown)
    }

    /// A refused Show, as journalctl prints it.
    private static let refusal =
        ##"{"MESSAGE":"10:31 Radio  Show is wrong","PRIORITY":"4","SDL_APP":"Web Radio","##
        + ##""SDL_APP_ID":"r-1","SDL_CONNECTION":"#3","SDL_FUNCTION":"Show","##
        + ##""SDL_KIND":"response","SDL_RESULT":"INVALID_DATA","SDL_LATENCY_MS":"5","##
        + ##""SDL_FROM":"accessory","SDL_SERVICE":"rpc","SDL_NUMBER":"17","SDL_SUCCESS":"0","##
        + ##""SDL_CORRELATION_ID":"2","SDL_BYTES":"95","SDL_SESSION":"1","##
        + ##""__REALTIME_TIMESTAMP":"1795257067000042"}"##

    @Test("a line of the journal has the JSON fields that the message has elsewhere")
    func message() throws {
        let line = try #require(JournalLine(Self.refusal))
        #expect(
            line.json == """
                {"app":"#3","app_id":"r-1","app_name":"Web Radio","bytes":95,"correlation_id":2,\
                "from":"accessory","function":"Show","kind":"response","latency_ms":5,\
                "level":"warning","message":"Radio Show is wrong","n":17,"priority":"warning",\
                "result_code":"INVALID_DATA","service":"rpc","session":1,"success":false,\
                "time":"2026-11-21T10:31:07.000042Z"}
                """)
    }

    @Test("relayd's own messages and advice in the journal, too; its JSON is passed on") func own()
        throws
    {
        let own = try #require(
            JournalLine(
                #"{"MESSAGE":"link: opened (accessory=sim:)","PRIORITY":"5","RELAYD_LOGGER":"link","#
                    + #""RELAYD_ACCESSORY":"sim:","__REALTIME_TIMESTAMP":"1795257067123456"}"#))
        #expect(
            own.json == """
                {"kind":"log","level":"notice","logger":"link",\
                "message":"opened (accessory=sim:)","metadata":{"accessory":"sim:"},\
                "priority":"info","time":"2026-11-21T10:31:07.123456Z"}
                """)
        let advice = try #require(
            JournalLine(
                ##"{"MESSAGE":"advice: Music: x → y","PRIORITY":"4","RELAYD_LOGGER":"advice","##
                    + ##""RELAYD_ENTRY":"7","ADVICE_CODE":"putfile_crc","ADVICE_SENTENCE":"Music: x","##
                    + ##""ADVICE_REMEDY":"y","SDL_CONNECTION":"#1","SDL_APP":"Music"}"##))
        #expect(
            advice.json == """
                {"app":"#1","app_name":"Music","code":"putfile_crc","count":1,"entry":7,\
                "kind":"advice","level":"warning","logger":"advice","message":"Music: x",\
                "priority":"warning","remedy":"y","time":"1970-01-01T00:00:00.000000Z"}
                """)
        let object = #"{"kind":"log","message":"m"}"#
        let json = try #require(
            JournalLine(#"{"MESSAGE":"{\"kind\":\"log\",\"message\":\"m\"}"}"#))
        #expect(json.json == object)
    }

    @Test("a message of bytes is read, and nothing in it reaches a terminal") func bytes()
        async throws
    {
        let line = try #require(
            JournalLine(
                #"{"MESSAGE":[104,105,27,91,50,74],"_PID":"7","SYSLOG_IDENTIFIER":"relayd"}"#))
        #expect(line.text.hasSuffix(" relayd[7]: hi"))
        #expect(JournalLine("no entry") == nil)
    }
}
