package import ArgumentParser
import ControlAPI

/// `relayctl apps`: list the apps that are connected, and those that left.
package struct AppsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "List the apps that are connected, and those that left.",
        discussion: """
            The rows of relayctl status without the rest; relayctl app NAME tells more of one.

            EXAMPLES
              relayctl apps
              relayctl apps --json | jq '.apps[].app_name'

            EXIT CODES
              0   shown, or there is none
              2   relayd is not running, or cannot be asked
              3   relayd refused
              64  the command line was not understood
            """)

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func run() async throws {
        let answer = try await socket.client().ask(AppList.self, Routes.apps)
        guard !output.json else {
            Output.current.write(JSONText.safe(answer.json))
            return
        }
        let text = StatusText(
            width: Output.current.size().columns, style: Output.current.style(output.color))
        Output.current.write(text.render(answer.value))
    }
}
