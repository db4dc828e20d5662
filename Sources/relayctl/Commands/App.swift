import ArgumentParser
import ControlAPI

/// `relayctl app`: everything relayd knows about one app.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Show everything relayd knows about an app.",
        discussion: """
            Registration, HMI level and its history, services with their rates, requests without \
            answer, permissions, capabilities, files on the head unit, menu, subscriptions with \
            their latest values, and what is probably wrong. All of it comes from the traffic.

            EXAMPLES
              relayctl app "My App"
              relayctl app 3
              relayctl app my-app-id --json | jq .files

            \(ExitStatus.codes(
                ok: "shown",
                refused: "there is no such app, or several with that name"))
            """)

    @Argument(
        help: "Name or part of it, app ID, or the number that relayctl status shows.",
        completion: Completions.apps)
    var app: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try Names.check(app: app)
    }

    func run() async throws {
        let answer = try await socket.client().ask(
            AppReport.self, Routes.path(Routes.app, app))
        output.show(answer.json) { AppText(output).render(answer.value) }
    }
}
