// The page about every command and option of relayctl, generated from relayctl's own description.
// `CommandPageTests` compare it with the committed page, and write it when told to.

import ArgumentParser
import Foundation
import RelayTesting

@testable import relayctl

/// `Documentation/relayctl.md`.
enum CommandPage {
    static let file = Checkout.root.appending(path: "Documentation/relayctl.md")

    /// A part of the output of swift-argument-parser for `--experimental-dump-help`.
    struct Command: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                var kind: String
                var name: String

                var spelling: String { (kind == "long" ? "--" : "-") + name }
            }

            var kind: String
            var abstract: String?
            var defaultValue: String?
            var names: [Name]?
            var shouldDisplay: Bool
            var valueName: String?

            /// The option as it is typed: "-n, --number <count>".
            var label: String {
                let value = valueName.map { "<\($0)>" } ?? ""
                guard kind != "positional" else { return value }
                let spellings = (names ?? []).map(\.spelling).sorted { $0.count < $1.count }
                    .joined(separator: ", ")
                return kind == "option" ? "\(spellings) \(value)" : spellings
            }

            /// Whether every command has the option; such options are described once, above.
            var isEverywhere: Bool {
                names?.contains { ["help", "version"].contains($0.name) } ?? false
            }
        }

        var commandName: String
        var abstract: String?
        var arguments: [Argument]?
        var subcommands: [Command]?
        var shouldDisplay: Bool

        var shownArguments: [Argument] {
            (arguments ?? []).filter { $0.shouldDisplay && !$0.isEverywhere }
        }
        var shownCommands: [Command] {
            (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
        }
    }

    private struct Description: Decodable { var command: Command }

    /// relayctl with all its commands.
    static func tool() throws -> Command {
        try JSONDecoder().decode(Description.self, from: Data(RelayCtl._dumpHelp().utf8)).command
    }

    /// The page to be committed.
    static func text() throws -> String {
        let commands = try tool().shownCommands
        var lines = [head]
        for group in RelayCtl.configuration.groupedSubcommands {
            let names = group.subcommands.map { $0._commandName }
            let shown = commands.filter { names.contains($0.commandName) }
            lines.append("\n## \(group.name)\n")
            lines.append("| command | what it does |\n|---|---|")
            for command in shown {
                let name = command.commandName
                lines.append("| [`\(name)`](#\(anchor(name))) | \(inTable(command.abstract)) |")
            }
            for command in shown { lines += section(command, "") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let head = """
        # relayctl

        <!-- Made of relayctl's own help. Do not edit: change the commands, then run
             RELAY_WRITE_CONFIG_SCHEMA=1 swift test \u{2D}-filter isCurrent -->

        These are the commands of `relayctl` with all their options. `--help` after a command says more, with examples and exit
        codes, and so does its man page. Without a command, `relayctl` shows the status and what to type next.

        The pages about [filters](filters.md), [recordings](traces.md), [driving the conversation](driving.md), [fault
        rules](faults.md), [OpenXC](openxc.md), [Wireshark](wireshark.md) and the [dashboard](dashboard.md) show the commands at work.
        """

    private static func section(_ command: Command, _ path: String) -> [String] {
        let name = path + command.commandName
        var lines = ["\n### \(name)\n", inText(command.abstract)]
        if !command.shownArguments.isEmpty {
            lines.append("\n| argument | meaning |\n|---|---|")
            for argument in command.shownArguments {
                let initial = argument.defaultValue.map { " Default: \($0)." } ?? ""
                lines.append(
                    "| `\(argument.label)` | \(inTable((argument.abstract ?? "") + initial)) |")
            }
        }
        return lines + command.shownCommands.flatMap { section($0, name + " ") }
    }

    /// A heading's anchor, as forges derive it.
    private static func anchor(_ name: String) -> String { name.replacing(" ", with: "-") }

    private static func inText(_ text: String?) -> String {
        var escaped = text ?? ""
        for sign in ["\\", "*", "<", "[", "`"] {
            escaped = escaped.replacing(sign, with: "\\" + sign)
        }
        return escaped.split(separator: "\n").joined(separator: " ")
    }

    private static func inTable(_ text: String?) -> String {
        inText(text).replacing("|", with: "\\|")
    }
}
