import ArgumentParser
import ControlAPI

/// `relayctl reload`: have relayd read its configuration again.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make relayd read its configuration again.",
        discussion: """
            An invalid configuration is rejected as a whole, and the old one stays. Options that cannot change
            while relayd runs are listed; they take effect after a restart.

            \(ExitStatus.codes(
                ok: "read",
                refused: "the configuration has mistakes or cannot be applied, or you may not"))
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func run() async throws {
        let answer = try await socket.client().change(ReloadReport.self, "POST", Routes.reload)
        guard !output.json else {
            Output.current.write(JSONText.safe(answer.json))
            return
        }
        let report = answer.value
        var lines = [report.summary]
        if !report.changed.isEmpty {
            lines.append("changed: " + report.changed.joined(separator: ", "))
        }
        if !report.needsRestart.isEmpty {
            lines.append("after a restart: " + report.needsRestart.joined(separator: ", "))
        }
        Output.current.write(lines.map { SafeText.clean($0) + "\n" }.joined())
    }
}
