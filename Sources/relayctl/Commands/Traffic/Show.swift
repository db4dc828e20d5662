import ArgumentParser
import ControlAPI
import NIOCore
import SDLProtocol

/// `relayctl show N`: one message whole.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one message in full.",
        discussion: """
            Prints where message N came from, its request or its answer, how long the answer took, and \
            all parameters, with wrong ones marked. Bulk data is described, never printed. Messages are \
            numbered from 1; 'relayctl tail --numbers' shows the numbers. relayd keeps the latest \
            messages (limits.ring in its configuration).

            EXAMPLES
              relayctl show 17
              relayctl show 17 --json | jq .message.params

            \(ExitStatus.codes(
                ok: "the message is shown",
                failed: "relayd does not have it: it is too old, or has not come yet"))
            """)

    @Argument(help: ArgumentHelp("Number of the message.", valueName: "n"))
    var number: Int

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard number > 0 else {
            throw ValidationError("the message is \(number); expected its number, from 1 up")
        }
    }

    func run() async throws {
        let output = Output.current
        let route = Routes.path(Routes.message, "\(number)")
        let client = try socket.client()
        let answer: ControlAnswer
        let path: String
        do throws(ControlClientError) {
            let found = try await client.get(route)
            (path, answer) = (found.socket.path, found.answer)
        } catch {
            guard let reason = error.notKept else { throw error }
            output.write("relayctl: \(reason)\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        guard !self.output.json else {
            output.write(JSONText.safe(String(decoding: answer.body, as: UTF8.self)))
            return
        }
        guard let whole = try? JSONObject(ByteBuffer(bytes: answer.body)),
            let lines = MessageText(self.output).lines(whole)
        else {
            throw ControlClientError.notUnderstood(
                path, server: answer.server, problem: "there is no \"message\" in it")
        }
        output.write(lines.map { $0 + "\n" }.joined())
    }
}

extension ControlClientError {
    /// relayd of this very version knows the route; so it is the message that it does not have.
    fileprivate var notKept: String? {
        guard case .refused(_, _, 404, let server, let message) = self,
            server == "relayd/\(Version.current)"
        else { return nil }
        return message
    }
}
