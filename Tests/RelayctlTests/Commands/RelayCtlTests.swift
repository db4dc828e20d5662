import ArgumentParser
import ControlAPI
import Testing

@testable import relayctl

@Suite struct RelayCtlTests {
    private func run(_ arguments: String...) async -> (code: Int32, out: String, error: String) {
        let recorder = Recorder()
        let code = await RelayCtl.execute(arguments, output: recorder.output())
        return (code, recorder.text(), recorder.text(.error))
    }

    @Test("the help of relayctl and of every command can be shown")
    func help() async {
        let root = await run("--help")
        #expect(root.code == 0 && root.out.contains("EXIT CODES"))
        for command in RelayCtl.commands {
            let name = command.configuration.commandName ?? ""
            // An old name, and the command that Wireshark runs.
            let isHidden = ["usb", "extcap"].contains(name)
            #expect(root.out.contains("\n  \(name) ") != isHidden, "\(name) is listed")
            let help = await run(name, "--help")
            #expect(help.code == 0)
            #expect(help.out.contains("OVERVIEW: \(command.configuration.abstract)"))
            #expect(help.out.contains("USAGE: relayctl \(name)"))
            #expect(!command.configuration.abstract.isEmpty)
        }
    }

    @Test("the help has the commands in groups") func groups() async {
        let help = await run("--help").out
        for group in ["STATE", "TRAFFIC", "DIAGNOSIS", "CONTROL"] {
            #expect(help.contains("\n\(group) SUBCOMMANDS:\n"))
        }
        #expect(!help.contains("\nSUBCOMMANDS:\n"), "all commands are in a group")
    }

    @Test("no line of the tables in the help is wrapped by a terminal of 60 columns") func tables()
    {
        let help = RelayCtl.configuration.discussion
        let tables = help.split(separator: "\n").drop { $0 != "ENVIRONMENT" }
        #expect(tables.count > 15)
        for line in tables { #expect(line.count <= 60, "\(line)") }
    }

    @Test("no two commands have one name") func uniqueNames() {
        let names = RelayCtl.commands.map { $0.configuration.commandName }
        #expect(Set(names).count == names.count && !names.contains(nil))
    }

    private static let commands = """
          relayctl top            all of it live, on one screen
          relayctl tail           the traffic as it comes
          relayctl doctor         what is broken, and how to fix it
          relayctl app APP        all about one app
          relayctl dashboard -o   the same in a browser
          relayctl sample-app     try the way to the head unit
        relayctl --help has all commands

        """

    @Test("without a command there is the status, and six commands to go on with")
    func bare() async throws {
        let server = try await StubServer(StubServer.relayd(Samples.busy))
        let status = await run("status", "--socket", server.path)
        let bare = await run("--socket", server.path)
        #expect(bare == (0, status.out + "\n" + Self.commands, ""))
        let json = await run("--json", "--socket", server.path)
        #expect(json == (0, try Samples.status(Samples.busy).json, ""))
        try await server.stop()
    }

    @Test("without a command and without a relayd: where it was looked for, and the six")
    func bareAlone() async {
        let result = await run("--socket", "/nonexistent/c.sock")
        #expect(result.code == 2 && result.out.isEmpty)
        #expect(result.error.hasPrefix("relayctl: relayd is not running; looked at\n"))
        #expect(result.error.hasSuffix("\n\n" + Self.commands))
    }

    @Test("-v is --version, and version tells of the relayd that runs as well")
    func versions() async throws {
        #expect(await run("-v") == (0, Version.current + "\n", ""))
        #expect(
            await run("version", "--socket", "/nonexistent/c.sock")
                == (0, "relayctl  \(Version.current)\nrelayd    not running\n", ""))
        let server = try await StubServer(StubServer.relayd("{}", version: "0.0.9"))
        let result = await run("version", "--socket", server.path)
        #expect(
            result.out == """
                relayctl  \(Version.current)
                relayd    0.0.9 on \(server.path)
                → the two differ: restart relayd after an update, with sudo systemctl restart relayd

                """)
        try await server.stop()
    }

    @Test("a path that is no socket, and a URL in place of a path, are said to be that")
    func noSocket() async {
        let file = await run("status", "--socket", "/tmp")
        #expect(file.code == 2 && file.error.hasPrefix("relayctl: /tmp is not a relayd socket but"))
        let url = await run("status", "--socket", "http://127.0.0.1:2777/")
        #expect(
            url.code == 64
                && url.error.contains(
                    "--socket is http://127.0.0.1:2777/; expected a path such as")
        )
    }

    @Test("--version is the version of relayd") func version() async {
        #expect(await run("--version") == (0, Version.current + "\n", ""))
    }

    @Test("completion scripts can be had", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async {
        let result = await run("--generate-completion-script", shell)
        #expect(result.code == 0 && result.out.contains("relayctl"))
    }

    @Test("a mistyped command gets a hint", arguments: ["stauts", "Status", "statu", "sttaus"])
    func mistyped(word: String) async {
        let result = await run(word)
        #expect(result.code == 64 && result.out.isEmpty)
        #expect(result.error.contains("there is no command '\(word)'; did you mean 'status'?"))
    }

    @Test("a word far from any command gets the list, without its escape sequences")
    func unknown() async {
        let result = await run("\u{1B}[2Jfrobnicate")
        #expect(result.code == 64)
        #expect(result.error.contains("no command 'frobnicate'; known: status"))
    }

    @Test("a mistyped option is a usage error with a hint") func mistypedOption() async {
        let result = await run("status", "--jsn")
        #expect(result.code == 64 && result.error.contains("--json"))
    }

    @Test("impossible values are refused with what was expected") func badValues() async {
        let interval = await run("status", "--watch", "--interval", "0")
        #expect(interval.code == 64 && interval.error.contains("from 0.1 to 3600"))
        let path = await run("status", "--socket", "/" + String(repeating: "x", count: 200))
        #expect(path.code == 64 && path.error.contains("the system allows 107"))
    }

    @Test("shared options may stand before the command") func optionsFirst() async {
        #expect(
            CommandLineHints.commandFirst(["--socket", "/x", "--json", "status", "-w"])
                == ["status", "--socket", "/x", "--json", "-w"])
        #expect(
            CommandLineHints.commandFirst(["--socket=/x", "status"]) == ["status", "--socket=/x"])
        for unchanged in [["--version"], ["--socket"], ["--json", "--help"], [], ["status"]] {
            #expect(CommandLineHints.commandFirst(unchanged) == unchanged)
        }
        let result = await run("--socket", "/nonexistent/c.sock", "status")
        #expect(result.code == 2 && result.error.contains("/nonexistent/c.sock"))
    }
}
