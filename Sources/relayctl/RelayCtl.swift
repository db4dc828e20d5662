import ArgumentParser
import ControlAPI
import Glibc
import NIOCore

/// relayctl: the tool that shows what relayd is doing.
///
/// To add a command, add a file in `Commands/` and a line in `groups`.
@main
struct RelayCtl: AsyncParsableCommand {
    static var commands: [any ParsableCommand.Type] { groups.flatMap(\.subcommands) }

    /// As `relayctl --help` shows them.
    private static let groups = [
        CommandGroup(
            name: "State",
            subcommands: [
                StatusCommand.self, TopCommand.self, AppsCommand.self, AppCommand.self,
                StatsCommand.self, VehicleCommand.self,
                ConfigCommand.self, DashboardCommand.self, APICommand.self,
                VersionCommand.self,
            ]),
        CommandGroup(
            name: "Traffic",
            subcommands: [
                TailCommand.self, ShowCommand.self, LogCommand.self, FilterCommand.self,
                RecordCommand.self, TraceCommand.self, ReplayCommand.self, WiresharkCommand.self,
                ExtcapCommand.self,
            ]),
        CommandGroup(
            name: "Diagnosis",
            subcommands: [
                DoctorCommand.self, AdviceCommand.self, ExplainCommand.self,
                PermissionsCommand.self, DevicesCommand.self, USBCommand.self,
                BugReportCommand.self, SampleAppCommand.self,
            ]),
        CommandGroup(
            name: "Drive",
            subcommands: [
                SendCommand.self, RequestCommand.self, InjectCommand.self, StreamCommand.self,
                RunCommand.self, ScenarioCommand.self,
            ]),
        CommandGroup(
            name: "Control",
            subcommands: [
                DisconnectCommand.self, ReopenCommand.self, ServerCommand.self,
                LogLevelCommand.self, ReloadCommand.self, FaultCommand.self, SetupCommand.self,
            ]),
    ]

    static let configuration = CommandConfiguration(
        commandName: "relayctl",
        abstract: "Shows what relayd, the bench relay for SmartDeviceLink apps, is doing.",
        discussion: """
            Without a command it shows the status and what to type next.

            relayctl asks relayd over its control socket: the one named with --socket PATH or \
            $RELAYD_SOCKET, or else the first of those below that exists. Commands that ask relayd \
            take --socket; all commands except top take --json.

            EXAMPLES
              relayctl status
              relayctl status --watch
              relayctl tail --failed
              relayctl app "My App"
              relayctl permissions "My App" Show
              relayctl status --socket /run/relayd/relayd.sock --json

            ENVIRONMENT
              RELAYD_SOCKET    relayd's control socket
              RELAYD_TIMEOUT   seconds to wait, 1 to 3600 (5)
              XDG_RUNTIME_DIR  for the socket of a user's own relayd
              NO_COLOR         no colours, unless --color always
              TERM             "dumb": no colours, and no
                               line takes another's place

            FILES
              \(ControlSocket.systemDirectory)/\(ControlSocket.fileName)
              $XDG_RUNTIME_DIR/relayd/\(ControlSocket.fileName)
              /tmp/relayd-UID/\(ControlSocket.fileName)
                  control sockets, in this order
              $XDG_CONFIG_HOME/relayd/filters
                  filters saved by 'relayctl filter'; without
                  the variable in ~/.config
              $XDG_CONFIG_HOME/relayd/requests.json
                  the same of 'relayctl request'
              $XDG_STATE_HOME/relayd/requests
                  what 'relayctl send' has sent; without the
                  variable in ~/.local/state

            \(ExitStatus.discussion)
            """,
        version: Version.current,
        groupedSubcommands: groups)

    static func main() async {
        // One connection at a time needs one thread, not one per core.
        NIOSingletons.groupLoopCountSuggestion = 1
        Glibc.exit(await execute(Array(CommandLine.arguments.dropFirst()), output: .process))
    }

    /// Runs the whole tool without ending the process; returns the exit code.
    static func execute(_ arguments: [String], output: Output) async -> Int32 {
        if CommandLineHints.namesNoCommand(arguments) {
            return await Output.$current.withValue(output) {
                await Overview.show(arguments, output: output).rawValue
            }
        }
        let arguments =
            arguments == ["-v"] ? ["--version"] : CommandLineHints.commandFirst(arguments)
        let known = commands.map { $0._commandName } + ["help"]
        if let problem = CommandLineHints.unknownCommand(arguments, known: known) {
            output.write("Error: \(problem)\nSee 'relayctl --help'.\n", to: .error)
            return ExitStatus.usage.rawValue
        }
        do {
            var command = try await asyncParseAsRoot(arguments)
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
            return error.exitStatus.rawValue
        } catch let error as ValidationError {
            // The error was found while the command ran, so the parser does not know which command it
            // was.
            let command = arguments.first ?? ""
            let message = error.message.split(separator: "\n").map { SafeText.clean(String($0)) }
            output.write(
                "Error: \(message.joined(separator: "\n"))\nSee 'relayctl \(command) --help'.\n",
                to: .error)
            return ExitStatus.usage.rawValue
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
