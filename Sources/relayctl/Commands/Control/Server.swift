import ArgumentParser
import ControlAPI

/// `relayctl server`: let apps connect, or disconnect them.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Let apps connect, or disconnect them all.",
        discussion: """
            "off" closes the port and disconnects every app; the link to the head unit stays. "on" opens the
            port again. This lasts until relayd stops.

            EXAMPLES
              relayctl server off
              relayctl server on

            \(ExitStatus.codes(
                ok: "done",
                refused: "another program has the port, or you may not"))
            """)

    /// The state to set.
    enum Wanted: String, CaseIterable, ExpressibleByArgument {
        case on, off
    }

    @Argument(help: "on or off.")
    var wanted: Wanted

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        try await socket.client().changeAndTell(
            output, "PUT", Routes.server, ServerRequest(active: wanted == .on))
    }
}
