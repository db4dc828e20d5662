import ArgumentParser
import MessageFilters
import RelayTesting
import Testing

@testable import relayctl

@Suite("What the shell is offered") struct CompletionsTests {
    @Test("the shell is offered keys, and what may stand behind them") func completions() async {
        #expect(await Completions.terms("", []).contains("rpc:"))
        #expect(await Completions.terms("rpc:", []).contains("rpc:PutFile"))
        // The shell keeps the quote and expects what may follow it.
        #expect(await Completions.terms("'ok !kind:", []).contains("ok !kind:request"))
        #expect(await Completions.terms("kind!=req", []).contains("kind!=request"))
        #expect(await Completions.terms("rpc~", []).contains("rpc~PutFile"))
        #expect(await Completions.terms("x:", []).isEmpty)
        #expect(await Completions.terms("'rpc:Show !", []).contains("rpc:Show !ok"))
        #expect(await !Completions.terms("!", []).contains("!!ok"))
        #expect(Completions.splitKey(["relayctl", "tail", "rpc", "=", "Sh"], 4) == "rpc")
        #expect(Completions.splitKey(["relayctl", "tail", "rpc", ":", "Sh"], 4) == "rpc")
        #expect(Completions.splitKey(["relayctl", "tail", "rpc", ":"], 3) == "rpc")
        #expect(Completions.splitKey(["relayctl", "tail", "rpc:Sh"], 2) == nil)
    }

    @Test(
        "a key is never the only word, because shells put a blank behind that",
        arguments: ["ap", "rp", "ms", "cor", "res", "text", "par", "'rpc:Show fro"])
    func onlyKey(prefix: String) async throws {
        let offered = await Completions.terms(prefix, [])
        let typed = prefix.drop { $0 == "'" }
        #expect(offered.count > 1)
        #expect(offered.allSatisfy { $0.hasPrefix(typed) })
    }

    @Test("parameters of the RPC specification are offered") func parameters() async {
        #expect(await Completions.terms("param", []).contains("param.mainField1"))
        #expect(await Completions.terms("'ok param.ma", []).contains("ok param.mainField1"))
    }

    @Test(
        "an app's name is one word of a filter, whatever is in it",
        arguments: [
            ("Radio", "Radio"), ("My App", "My?App"), ("(x|y)", "?x?y?"), ("\"q\"", "?q?"),
            ("$(reboot)", "??reboot?"), ("a:b", "a:b"), ("Süd", "Süd"),
        ])
    func pattern(name: String, pattern: String) throws {
        let app = OfferedApp(3, name: name)
        #expect(app.name == name && app.pattern == pattern)
        #expect(
            try FilterArgument.filter(["app:" + pattern]).askedApps.first?.pattern.matches(name)
                == true)
    }

    @Test(
        "an app whose name cannot be typed is offered by its number",
        arguments: ["", " ", "a\u{1B}b"])
    func number(name: String) {
        let app = OfferedApp(3, name: name)
        #expect(app.name == nil && app.pattern == nil && app.number == "#3")
    }

    @Test("zsh takes no part of a word for an explanation") func zsh() {
        #expect(
            Completions.literal(["rpc:Show", #"a\b"#], for: .zsh) == [#"rpc\:Show"#, #"a\\b"#])
        #expect(Completions.literal(["rpc:Show"], for: .fish) == ["rpc:Show"])
    }

    @Test("zsh counts the letters before the cursor from the last blank") func zshCursor() {
        func written(_ prefix: String, _ word: String, _ shell: CompletionShell) -> String {
            Completions.written(prefix, of: word, in: shell)
        }
        #expect(written("'r", "'rpc:Show ki", .zsh) == "'rpc:Show ki")
        #expect(written("'rpc:S", "'rpc:S", .zsh) == "'rpc:S")
        #expect(written("'r", "'rpc:Show", .zsh) == "'r")
        #expect(written("'r", "'rpc:Show ki", .bash) == "'r")
    }

    @Test("bash offers each word as it is, and runs nothing that is in one") func bash()
        async throws
    {
        let words = [
            "$(echo run)", "`echo run`", "it's", "\"q, n\"", #"back\slash"#, "two words", "~",
            "$HOME",
        ]
        // As the completion script does.
        let finished = try await ChildProcess.run(
            "/bin/bash",
            [
                "-c", "IFS=$'\\n' compgen -W \"$1\" -- ''", "bash",
                Completions.literal(words, for: .bash).joined(separator: "\n"),
            ], environment: ["HOME": "/nowhere"])
        #expect(finished.output == words.joined(separator: "\n"))
    }
}
