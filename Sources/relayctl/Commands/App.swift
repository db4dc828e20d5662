package import ArgumentParser
import ControlAPI

/// `relayctl app`: everything relayd knows about one app.
package struct AppCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Show everything relayd knows about an app.",
        discussion: """
            Registration, HMI level and its history, services with their rates, requests without \
            answer, permissions, capabilities, files on the head unit, menu, subscriptions with \
            their latest values, and what is probably wrong: all of it read from the traffic.

            EXAMPLES
              relayctl app "My App"
              relayctl app 3
              relayctl app my-app-id --json | jq .files

            EXIT CODES
              0   shown
              2   relayd is not running, or cannot be asked
              3   there is no such app, or several with that name
              64  the command line was not understood
            """)

    @Argument(help: "Name, app ID, or number of the connection as relayctl status shows it.")
    package var app: String

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func validate() throws {
        try Names.check(app: app)
    }

    package func run() async throws {
        let answer = try await socket.client().ask(
            AppReport.self, Routes.path(Routes.app, app))
        guard !output.json else {
            Output.current.write(JSONText.safe(answer.json))
            return
        }
        let text = AppText(
            width: Output.current.size().columns, style: Output.current.style(output.color))
        Output.current.write(text.render(answer.value))
    }
}
