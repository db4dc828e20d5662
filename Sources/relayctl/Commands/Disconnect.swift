package import ArgumentParser
import ControlAPI

/// `relayctl disconnect`: send an app away.
package struct DisconnectCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "disconnect",
        abstract: "Send an app away.",
        discussion: """
            Its sessions end politely on the head unit, then its connection is closed. The reason stands in
            the log and under "Left recently". Most app libraries connect again by themselves.

            EXAMPLES
              relayctl disconnect "My App"
              relayctl disconnect 3 --reason "makes room for the demo"

            EXIT CODES
              0   disconnected
              2   relayd is not running, or cannot be asked
              3   there is no such app, or you may not
              64  the command line was not understood
            """)

    @Argument(help: "Name, app ID, or number of the connection as relayctl status shows it.")
    package var app: String

    @Option(help: ArgumentHelp("Why, for the log.", valueName: "text"))
    package var reason: String?

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func validate() throws {
        try Names.check(app: app)
    }

    package func run() async throws {
        try await socket.client().changeAndTell(
            output, "POST", Routes.path(Routes.disconnect, app), ReasonRequest(reason: reason))
    }
}
