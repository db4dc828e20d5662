import ArgumentParser
import ControlAPI

/// `relayctl dashboard`: the address of the page for browsers, with its token.
struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Print the address of the dashboard, with the token that lets it change things.",
        discussion: """
            Open the address in a browser on this machine. Whoever has the part behind # may \
            command relayd, until it is started again or, with dashboard.token_file, for good. \
            Without it the page only looks, where dashboard.token_to_read is false.

            From another machine:  ssh -L 2777:127.0.0.1:2777 BENCH  and the same address there.

            \(ExitStatus.codes(
                ok: "printed",
                failed: "the dashboard is not served; the reason is on standard error",
                refused: "you may not"))
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().ask(DashboardReport.self, Routes.dashboard)
        if output.json { Output.current.write(JSONText.safe(answer.json)) }
        guard let address = answer.value.addressWithToken else {
            let reason = answer.value.reason ?? "the dashboard is not served"
            Output.current.write("relayctl: \(SafeText.clean(reason))\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        // Alone on its line: $(relayctl dashboard) is an address.
        if !output.json { Output.current.write(SafeText.clean(address) + "\n") }
    }
}
