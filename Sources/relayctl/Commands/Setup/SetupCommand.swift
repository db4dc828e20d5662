import AccessoryLinks
import ArgumentParser
import ControlAPI
import Glibc

/// `relayctl setup`: the changes root has to make once for a role of this machine.
struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Set this machine up for a link that needs root once.",
        discussion: """
            Each role says which commands it amounts to, asks, does it, and takes it back with --undo. \
            All take --json.

            EXAMPLES
              relayctl setup gadget --dry-run
              sudo relayctl setup gadget
              sudo relayctl setup bluetooth --visible

            \(SetupCommand.exitCodes)
            """,
        subcommands: [SetupGadgetCommand.self, SetupBluetoothCommand.self])

    static let exitCodes = """
        EXIT CODES
          0   done, or nothing to do
          1   it could not be done; nothing is left half done
          3   you said no
          64  the command line was not understood, or there is no terminal to ask at
        """
}

/// What all roles have in common: show the changes, ask, make them, undo them.
struct SetupOptions: ParsableArguments {
    @Flag(help: "Take back what was set up.")
    var undo = false

    @Flag(help: "Do it without asking.")
    var yes = false

    @Flag(help: "Only say what would be changed.")
    var dryRun = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if dryRun, yes { throw ValidationError("--dry-run and --yes exclude each other") }
    }

    func carryOut(_ setUp: some RoleSetUp, role: String) throws {
        let changes = undo ? setUp.undoing : setUp.doing
        var report = SetupReport(role: role, changes: changes, isDone: false)
        guard !changes.isEmpty else {
            try show(report, undo ? "Nothing is set up.\n" : "It is set up already.\n")
            return
        }
        let list = changes.map { "  \(SafeText.clean($0))\n" }.joined()
        if dryRun {
            try show(report, "As these commands do:\n\(list)")
            return
        }
        if !yes { try ask("What these commands do will be done:\n\(list)Go on? [y/N] ") }
        do throws(LinkProblem) {
            if undo { try setUp.undo() } else { try setUp.perform() }
        } catch {
            Output.current.write("relayctl: \(SafeText.clean("\(error)"))\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        report.isDone = true
        try show(report, undo ? "Undone.\n" : "Done. \(setUp.whatNext)\n")
    }

    private func ask(_ question: String) throws {
        guard isatty(STDIN_FILENO) == 1, isatty(Output.Stream.error.rawValue) == 1 else {
            throw ValidationError(
                "there is no terminal to ask at; give --yes to do it anyway, or --dry-run to see what"
            )
        }
        Output.current.write(question, to: .error)
        let answer = readLine()
        guard let answer, ["y", "yes"].contains(answer.lowercased()) else {
            // If the input ended without an answer, the line of the question is still open.
            let end = answer == nil ? "\n" : ""
            Output.current.write("\(end)nothing was changed\n", to: .error)
            throw ExitCode(ExitStatus.refused.rawValue)
        }
    }

    private func show(_ report: SetupReport, _ text: String) throws {
        try output.show(String(decoding: APICoding.encode(report), as: UTF8.self)) { text }
    }
}

/// The JSON of `relayctl setup`.
struct SetupReport: Codable {
    /// Version of the JSON layout: 1.
    var schema = 1
    /// What the machine is set up for.
    var role: String
    /// Commands that make the same changes, in their order.
    var changes: [String]
    /// Whether the changes have been made.
    var isDone: Bool

    enum CodingKeys: String, CodingKey {
        case schema, role, changes
        case isDone = "done"
    }
}
