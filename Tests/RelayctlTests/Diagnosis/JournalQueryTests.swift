import ArgumentParser
import Testing

@testable import relayctl

// `relayctl log` as a journalctl command.

@Suite("relayctl log")
struct JournalQueryTests {
    private func command(_ arguments: String...) throws -> String {
        try LogCommand.parse(arguments).query.shellText
    }

    @Test("everything of the service, when nothing else is said")
    func everything() throws {
        #expect(
            try command()
                == "journalctl --unit=relayd.service --output=short --no-hostname")
    }

    @Test("functions and failures are fields; the spelling of functions does not matter")
    func fields() throws {
        #expect(
            try command("--rpc", "show", "--rpc", "PutFile", "--failed").hasSuffix(
                " SDL_FUNCTION=Show SDL_FUNCTION=PutFile SDL_SUCCESS=0"))
    }

    @Test("an app is meant by name, ID or connection, whatever else is asked for")
    func apps() throws {
        #expect(
            try command("--app", "My App", "--app", "#3", "--rpc", "Show").hasSuffix(
                """
                 'SDL_APP=My App' SDL_FUNCTION=Show + 'SDL_APP_ID=My App' SDL_FUNCTION=Show \
                + 'SDL_CONNECTION=#3' SDL_FUNCTION=Show
                """))
    }

    @Test("a plain number is a connection's, unless an app has it for name or ID")
    func number() throws {
        #expect(
            try command("--app", "3").hasSuffix(
                " SDL_APP=3 + SDL_APP_ID=3 + 'SDL_CONNECTION=#3'"))
    }

    @Test("time, count, following, JSON and the instance go through")
    func options() throws {
        #expect(
            try command(
                "--since", "1 hour ago", "-n", "5", "-f", "--json", "--unit", "relayd@left",
                "--warnings")
                    == """
                    journalctl --unit=relayd@left.service --output=json '--since=1 hour ago' --lines=5 \
                    --follow --priority=warning
                    """)
    }

    @Test("a quote in a name stays in the name")
    func quotes() throws {
        #expect(try command("--app", "it's").contains(#"'SDL_APP=it'\''s'"#))
    }

    @Test("a function that does not exist is refused with the nearest that does")
    func unknownFunction() {
        let error = #expect(throws: (any Error).self) {
            try LogCommand.parse(["--rpc", "Shw"])
        }
        #expect(error.map { LogCommand.message(for: $0) }?.contains("did you mean Show?") == true)
    }
}
