import ArgumentParser
import ControlAPI

/// `relayctl disconnect`: close the connection of an app.
struct DisconnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect",
        abstract: "Disconnect an app.",
        discussion: """
            relayd ends the app's sessions on the head unit, then closes its connection. The reason is shown in
            the log and, for five minutes, under "Left recently". Most app libraries connect again by themselves.

            EXAMPLES
              relayctl disconnect "My App"
              relayctl disconnect 3 --reason "makes room for the demo"

            \(ExitStatus.codes(ok: "disconnected", refused: "there is no such app, or you may not"))
            """)

    @Argument(
        help: "Name or part of it, app ID, or the number that relayctl status shows.",
        completion: Completions.apps)
    var app: String

    @Option(help: ArgumentHelp("The reason, for the log.", valueName: "text"))
    var reason: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try Names.check(app: app)
    }

    func run() async throws {
        try await socket.client().changeAndTell(
            output, "POST", Routes.path(Routes.disconnect, app), ReasonRequest(reason: reason))
    }
}
