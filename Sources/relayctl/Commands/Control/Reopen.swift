import ArgumentParser
import ControlAPI

/// `relayctl reopen`: close the link to the head unit and open it again.
struct ReopenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reopen",
        abstract: "Close the link to the head unit and open it again.",
        discussion: """
            This is like unplugging the cable and plugging it in again: apps are closed with the link
            (apps.when_link_lost) and register again. If relayd is waiting for the head unit, it tries again at
            once.

            \(ExitStatus.codes(ok: "the link is being opened", refused: "you may not"))
            """)

    @Option(help: ArgumentHelp("The reason, for the log.", valueName: "text"))
    var reason: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        try await socket.client().changeAndTell(
            output, "POST", Routes.reopen, ReasonRequest(reason: reason))
    }
}
