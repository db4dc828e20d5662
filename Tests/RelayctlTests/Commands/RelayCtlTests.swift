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
            let isOldName = name == "usb"
            #expect(root.out.contains("\n  \(name) ") != isOldName, "\(name) is listed")
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

    @Test("no two commands have one name") func uniqueNames() {
        let names = RelayCtl.commands.map { $0.configuration.commandName }
        #expect(Set(names).count == names.count && !names.contains(nil))
    }

    @Test("without a command there is help") func bare() async {
        let result = await run()
        #expect(result.code == 0 && result.out.contains("SUBCOMMANDS"))
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
