package import ArgumentParser
import ControlAPI

/// `relayctl reopen`: close the link to the head unit and open it again.
package struct ReopenCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "reopen",
        abstract: "Close the link to the head unit and open it again.",
        discussion: """
            As if the cable were pulled and plugged: apps are closed with the link (apps.when_link_lost) and
            register anew. While relayd waits for a head unit, it tries again at once.

            EXIT CODES
              0   the link is being opened
              2   relayd is not running, or cannot be asked
              3   you may not
              64  the command line was not understood
            """)

    @Option(help: ArgumentHelp("Why, for the log.", valueName: "text"))
    package var reason: String?

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func run() async throws {
        try await socket.client().changeAndTell(
            output, "POST", Routes.reopen, ReasonRequest(reason: reason))
    }
}
