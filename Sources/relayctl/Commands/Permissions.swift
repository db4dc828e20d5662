package import ArgumentParser
import ControlAPI

/// `relayctl permissions`: may this app send that RPC now?
package struct PermissionsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "permissions",
        abstract: "Tell whether an app may use an RPC now, and if not, why.",
        discussion: """
            Decided by what the head unit said in OnPermissionsChange and by the app's HMI level.

            EXAMPLES
              relayctl permissions "My App" Show
              until relayctl permissions 1 Alert >/dev/null; do sleep 1; done

            EXIT CODES
              0   yes
              1   no, or the head unit has not said yet
              2   relayd is not running, or cannot be asked
              3   there is no such app or RPC
              64  the command line was not understood
            """)

    @Argument(help: "Name, app ID, or number of the connection as relayctl status shows it.")
    package var app: String

    @Argument(help: "Name of the RPC as in the RPC specification, e.g. Show.")
    package var rpc: String

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func validate() throws {
        try Names.check(app: app)
        try Names.check([rpc], "<rpc>", example: "the name of a function such as Show")
    }

    package func run() async throws {
        let answer = try await socket.client().ask(
            PermissionAnswer.self, Routes.path(Routes.permission, app, rpc))
        if output.json {
            Output.current.write(JSONText.safe(answer.json))
        } else {
            let text = PermissionText(
                width: Output.current.size().columns, style: Output.current.style(output.color))
            Output.current.write(text.render(answer.value))
        }
        if answer.value.answer != .yes { throw ExitCode.failure }
    }
}
