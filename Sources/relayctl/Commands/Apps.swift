import ArgumentParser
import ControlAPI

/// `relayctl apps`: list the connected apps, and those that left.
struct AppsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "List the apps that are connected, and those that left recently.",
        discussion: """
            The app rows of relayctl status. relayctl app NAME shows more about one app. With a vehicle \
            interface, these are its clients; relayctl vi clients shows more about them.

            EXAMPLES
              relayctl apps
              relayctl apps --json | jq '.apps[].app_name'

            \(ExitStatus.codes(ok: "shown, or there is none"))
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().ask(AppList.self, Routes.apps)
        output.show(answer.json) { StatusText(output).render(answer.value) }
    }
}
