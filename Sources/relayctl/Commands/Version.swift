import ArgumentParser
import ControlAPI

/// `relayctl version`: show the versions of relayctl and of the running relayd.
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the versions of relayctl and of the relayd that runs.",
        discussion: """
            EXIT CODES
              0   printed, whether or not relayd runs
              64  the command line was not understood
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    /// The answer with --json.
    private struct Report: Encodable {
        /// Version of the JSON layout: 1.
        var schema = 1
        var relayctl = Version.current
        /// Left out when relayd does not answer.
        var relayd: String?
        /// Where it answers.
        var socket: String?
    }

    func run() async throws {
        var report = Report()
        var problem = ""
        let client = try socket.client()
        do throws(ControlClientError) {
            let (socket, answer) = try await client.get(Routes.index)
            report.relayd = String(answer.server.dropFirst("relayd/".count))
            report.socket = socket.path
        } catch {
            problem = error.inShort
        }
        try Output.current.write(
            output.json
                ? JSONText.safe(String(decoding: APICoding.encode(report), as: UTF8.self))
                : Self.text(report, problem))
    }

    private static func text(_ report: Report, _ problem: String) -> String {
        let relayd =
            report.relayd.map { "\(SafeText.clean($0)) on \(SafeText.clean(report.socket ?? ""))" }
        var text = "relayctl  \(report.relayctl)\nrelayd    \(relayd ?? problem)\n"
        if let running = report.relayd, running != report.relayctl {
            text +=
                "→ the two differ: restart relayd after an update, with sudo systemctl restart relayd\n"
        }
        return text
    }
}
