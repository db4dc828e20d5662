package import ArgumentParser
import ControlAPI

/// `relayctl server`: let apps connect, or send them away.
package struct ServerCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Let apps connect, or send them away.",
        discussion: """
            off closes the port and says goodbye to every app; the link to the head unit stays. on opens the
            port again where it was. Counts until relayd ends.

            EXAMPLES
              relayctl server off
              relayctl server on

            EXIT CODES
              0   done
              2   relayd is not running, or cannot be asked
              3   the port is taken by somebody else, or you may not
              64  the command line was not understood
            """)

    /// What the server is to be.
    package enum Wanted: String, CaseIterable, ExpressibleByArgument {
        case on, off
    }

    @Argument(help: "on or off.")
    package var wanted: Wanted

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func run() async throws {
        try await socket.client().changeAndTell(
            output, "PUT", Routes.server, ServerRequest(active: wanted == .on))
    }
}
