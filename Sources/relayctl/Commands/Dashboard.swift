import ArgumentParser
import ControlAPI

/// `relayctl dashboard`: the address of the page for browsers, with its token.
struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Print the address of the dashboard with its token, or open it in the browser.",
        discussion: """
            Anyone who has the part after # can see everything and control relayd. It stays the \
            same after a restart if a file keeps it (dashboard.token_file). With --open the browser \
            is given a file that leads to the page and that only you can read, because every user \
            of this machine can see command lines. If the browser cannot read the file, open the \
            printed address.

            From another machine:  ssh -L 2777:127.0.0.1:2777 BENCH  and the same address there.

            \(ExitStatus.codes(
                ok: "printed, or opened",
                failed: "the dashboard is not served, or no browser could be started",
                refused: "you may not"))
            """)

    @Flag(name: .shortAndLong, help: "Open it in the browser: $BROWSER, or the desktop's.")
    var open = false

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
        guard open else {
            // Alone on its line, so that $(relayctl dashboard) is an address.
            if !output.json { Output.current.write(SafeText.clean(address) + "\n") }
            return
        }
        if let tunnel = SSHSession.ofThisProcess?.tunnel(to: address) {
            Output.current.write("relayctl: \(SafeText.line(tunnel))\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        do throws(Browser.Failure) {
            try Browser.open(address)
        } catch {
            Output.current.write("relayctl: \(SafeText.line(error.description))\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        if !output.json {
            Output.current.write("opened \(SafeText.clean(answer.value.url ?? ""))\n")
        }
    }
}
