import ArgumentParser
import MessageFilters
import Testing

@testable import relayctl

// `relayctl log` as a journalctl command.

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
                " SDL_FUNCTION=Show SDL_FUNCTION=PutFile SDL_SUCCESS=0"))
    }

    @Test("an app is meant by name, ID or connection, whatever else is asked for")
    func apps() async throws {
        #expect(
            try await command("--app", "My App", "--app", "#3", "--rpc", "Show").hasSuffix(
                """
                 'SDL_APP=My App' SDL_FUNCTION=Show + 'SDL_APP_ID=My App' SDL_FUNCTION=Show \
                + 'SDL_CONNECTION=#3' SDL_FUNCTION=Show
                """))
    }

    @Test("a plain number is a connection's, unless an app has it for name or ID")
    func number() async throws {
        #expect(
            try await command("--app", "3").hasSuffix(
                " SDL_APP=3 + SDL_APP_ID=3 + 'SDL_CONNECTION=#3'"))
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

    @Test("a quote in a name stays in the name")
    func quotes() async throws {
        #expect(try await command("--app", "it's").contains(#"'SDL_APP=it'\''s'"#))
    }

    @Test("a function that does not exist is refused with the nearest that does")
    func unknownFunction() async {
        let error = await #expect(throws: (any Error).self) {
            try await LogCommand.asyncParse(["--rpc", "Shw"])
        }
        #expect(error.map { LogCommand.message(for: $0) }?.contains("did you mean Show?") == true)
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
        let line = try #require(
            JournalLine(
                ##"{"MESSAGE":"10:31 Radio Show is wrong","PRIORITY":"4","SDL_APP":"Web Radio","##
                    + ##""SDL_APP_ID":"r-1","SDL_CONNECTION":"#3","SDL_FUNCTION":"Show","##
                    + ##""SDL_KIND":"response","SDL_RESULT":"INVALID_DATA","SDL_LATENCY_MS":"5","##
                    + ##""SDL_FROM":"accessory","SDL_SERVICE":"rpc","SDL_NUMBER":"17","##
                    + ##""SDL_CORRELATION_ID":"2","SDL_BYTES":"95","SDL_SESSION":"1"}"##))
        let filter = try await LogCommand.asyncParse([text]).query().filter
        #expect((filter.accepts(line) == true) == isShown)
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
