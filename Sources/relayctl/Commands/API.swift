import ArgumentParser
import ControlAPI

/// `relayctl api`: show what relayd answers on its control socket.
struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "List the requests that relayd answers on its control socket.",
        discussion: """
            The control socket speaks HTTP. Everything that relayctl shows can be requested with curl:

              curl --unix-socket "$(relayctl api --print-socket)" http://relayd/v1/status

            \(ExitStatus.codes(ok: "shown"))
            """)

    @Flag(help: "Only print the path of the control socket.")
    var printSocket = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let client = try socket.client()
        guard !printSocket else {
            let (socket, _) = try await client.get(Routes.index)
            let path = SafeText.line(socket.path)
            // A path in JSON: only quotes and backslashes are left to escape.
            let json = String(decoding: try APICoding.encode(["socket": path]), as: UTF8.self)
            Output.current.write(output.json ? json : path + "\n")
            return
        }
        let answer = try await client.ask(RouteList.self, Routes.index)
        guard !output.json else {
            Output.current.write(JSONText.safe(answer.json))
            return
        }
        let routes = answer.value.routes
        let table = Table([
            .init("Method", routes.map { SafeText.clean($0.method) }),
            .init("Path", routes.map { SafeText.clean($0.path) }),
            .init("Answers", routes.map { SafeText.clean($0.summary) }),
        ]).fitted(
            to: Output.current.size().columns, [.shorten("Answers", to: 20), .drop("Answers")])
        let lines = table.lines(Output.current.style(output.color))
        Output.current.write(lines.map { $0 + "\n" }.joined())
    }
}
