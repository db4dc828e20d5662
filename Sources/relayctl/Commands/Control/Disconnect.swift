import ArgumentParser
import ControlAPI

/// `relayctl disconnect`: send an app away.
struct DisconnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect",
        abstract: "Send an app away.",
        discussion: """
            Its sessions end politely on the head unit, then its connection is closed. The reason stands in
            the log and in the status for five minutes. Most app libraries connect again by themselves.

            EXAMPLES
              relayctl disconnect "My App"
              relayctl disconnect 3 --reason "makes room for the demo"

            \(ExitStatus.codes(ok: "disconnected", refused: "there is no such app, or you may not"))
            """)

    @Argument(help: "Name, app ID, or number of the connection as relayctl status shows it.")
    var app: String

    @Option(help: ArgumentHelp("Why, for the log.", valueName: "text"))
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
