package import ArgumentParser
import ControlAPI
import Glibc
import NIOCore

/// relayctl: the tool that shows what relayd is doing.
///
/// Adding a command is a file in `Commands/` and a line in `commands`.
@main
package struct RelayCtl: AsyncParsableCommand {
    package static let commands: [any ParsableCommand.Type] = [
        // Looking.
        StatusCommand.self, DoctorCommand.self, DashboardCommand.self, AppsCommand.self,
        AppCommand.self, TailCommand.self, ShowCommand.self, LogCommand.self, StatsCommand.self,
        PermissionsCommand.self, AdviceCommand.self, ExplainCommand.self, USBCommand.self,
        ConfigCommand.self, APICommand.self,
        // Doing.
        DisconnectCommand.self, ReopenCommand.self, ServerCommand.self, LogLevelCommand.self,
        ReloadCommand.self, BugReportCommand.self, SampleAppCommand.self,
    ]

    package static let configuration = CommandConfiguration(
        commandName: "relayctl",
        abstract: "Shows what relayd, the bench relay for SmartDeviceLink apps, is doing.",
        discussion: """
            relayctl asks relayd over its control socket. It looks for the socket at \
            $RELAYD_SOCKET, else at \(ControlSocket.systemDirectory)/\(ControlSocket.fileName), \
            $XDG_RUNTIME_DIR/relayd/\(ControlSocket.fileName) and \
            /tmp/relayd-UID/\(ControlSocket.fileName) in turn; every command takes --socket PATH.

            EXAMPLES
              relayctl status
              relayctl status --watch
              relayctl tail --failed
              relayctl app "My App"
              relayctl permissions "My App" Show
              relayctl status --socket /run/relayd/relayd.sock --json

            \(ExitStatus.discussion)
            """,
        version: Version.current,
        subcommands: commands)

    package init() {}

    package static func main() async {
        // One connection at a time needs one thread, not one per core.
        NIOSingletons.groupLoopCountSuggestion = 1
        Glibc.exit(await execute(Array(CommandLine.arguments.dropFirst()), output: .process))
    }

    /// The whole tool, short of ending the process; returns the exit code.
    package static func execute(_ arguments: [String], output: Output) async -> Int32 {
        let arguments = CommandLineHints.commandFirst(arguments)
        let known = commands.map { $0._commandName } + ["help"]
        if let problem = CommandLineHints.unknownCommand(arguments, known: known) {
            output.write("Error: \(problem)\nSee 'relayctl --help'.\n", to: .error)
            return ExitStatus.usage.rawValue
        }
        do {
            var command = try parseAsRoot(arguments)
            try await Output.$current.withValue(output) {
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            }
            return ExitStatus.ok.rawValue
        } catch let error as ControlClientError {
            output.write("relayctl: \(error)\n", to: .error)
            return ExitStatus.notRunning.rawValue
        } catch {
            let code = exitCode(for: error)
            let message = fullMessage(for: error, columns: min(output.size().columns, 100))
            if !message.isEmpty {
                output.write(message + "\n", to: code == .success ? .standard : .error)
            }
            return code.rawValue
        }
    }
}
