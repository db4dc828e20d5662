package import ArgumentParser
import ControlAPI

/// `relayctl permissions`: may this app send that RPC now, or which ones may it send?
package struct PermissionsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "permissions",
        abstract: "Tell whether an app may use an RPC now, and if not, why.",
        discussion: """
            Decided by what the head unit said in OnPermissionsChange and by the app's HMI level. \
            Without an RPC all that the head unit named are listed.

            EXAMPLES
              relayctl permissions "My App" Show
              relayctl permissions "My App"
              until relayctl permissions 1 Alert >/dev/null; do sleep 1; done

            EXIT CODES
              0   yes; without an RPC: they are listed
              1   no, or the head unit has not said yet
              2   relayd is not running, or cannot be asked
              3   there is no such app or RPC
              64  the command line was not understood
            """)

    @Argument(help: "Name, app ID, or number of the connection as relayctl status shows it.")
    package var app: String

    @Argument(help: "Name of the RPC as in the RPC specification, e.g. Show; none = all of them.")
    package var rpc: String?

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func validate() throws {
        try Names.check(app: app)
        if let rpc {
            try Names.check([rpc], "<rpc>", example: "the name of a function such as Show")
        }
    }

    package func run() async throws {
        guard let rpc else { return try await list() }
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

    /// All that the head unit has named; as JSON what `relayctl app` has of them.
    private func list() async throws {
        let report = try await socket.client().ask(AppReport.self, Routes.path(Routes.app, app))
            .value
        if output.json {
            let json = String(
                decoding: try APICoding.encode(report.permissions), as: UTF8.self)
            Output.current.write(JSONText.safe(json))
        } else {
            let text = PermissionText(
                width: Output.current.size().columns, style: Output.current.style(output.color))
            Output.current.write(text.render(report))
        }
        if report.permissions.isEmpty { throw ExitCode.failure }
    }
}
