package import ArgumentParser
import ControlAPI

/// `relayctl reload`: have relayd read its configuration again.
package struct ReloadCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Have relayd read its configuration again.",
        discussion: """
            Only a configuration without mistakes is taken over. Options that cannot change while relayd runs
            are named; they count from its next start on.

            EXIT CODES
              0   read
              2   relayd is not running, or cannot be asked
              3   the configuration has mistakes or cannot be applied, or you may not
              64  the command line was not understood
            """)

    @OptionGroup package var output: OutputOptions
    @OptionGroup package var socket: SocketOptions

    package init() {}

    package func run() async throws {
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
