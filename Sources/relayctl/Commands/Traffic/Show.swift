import ArgumentParser
import ControlAPI
import NIOCore
import SDLProtocol

/// `relayctl show N`, `relayctl show last`: show one whole message.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one message in full.",
        discussion: """
            Prints where message N came from, its request or its answer, how long the answer took, and \
            all parameters, with wrong ones marked. Bulk data is described, never printed. Messages are \
            numbered from 1; 'relayctl tail' has the numbers in front, and other messages are named by \
            theirs in brackets, such as [17]. relayd keeps the latest messages (limits.ring in its \
            configuration).

            EXAMPLES
              relayctl show 17
              relayctl show last
              relayctl show --failed last
              relayctl show 17 --json | jq .message.params

            \(ExitStatus.codes(
                ok: "the message is shown",
                failed: "relayd does not have it: it is too old, or has not come yet",
                refused: "relayd keeps no messages (limits.ring is 0), or refused"))
            """)

    @Argument(
        help: ArgumentHelp(
            "Number of the message, or last: the latest one, not counting heartbeats.",
            valueName: "n"))
    var message: String

    @Flag(help: "With last: the latest message that went wrong.")
    var failed = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard isLast || Int(message).map({ $0 > 0 }) ?? false else {
            throw ValidationError(
                "the message is \"\(message)\"; expected its number, from 1 up, or last")
        }
        if failed, !isLast {
            throw ValidationError("--failed goes with last: relayctl show --failed last")
        }
    }

    private var isLast: Bool { message == "last" }

    func run() async throws {
        let output = Output.current
        let client = try socket.client()
        let number = try await isLast ? last(client) : message
        let route = Routes.path(Routes.message, number)
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

    /// The number of the message that `last` means.
    private func last(_ client: ControlClient) async throws -> String {
        var query = MessageQuery()
        query.add(.limit, "1")
        query.add(.priority, "info")
        if failed { query.add(.failed, "1") }
        let (socket, answer) = try await client.get(query.path(Routes.messages))
        guard let list = (try? JSONObject(ByteBuffer(bytes: answer.body)))?.array("messages") else {
            throw ControlClientError.notUnderstood(
                socket.path, server: answer.server, problem: "there is no \"messages\" in it")
        }
        guard let message = list.elements.last.flatMap(list.object), let n = message.integer("n")
        else {
            let reason = failed ? "nothing that is kept went wrong" : "there are no messages yet"
            Output.current.write("relayctl: \(reason)\n", to: .error)
            throw ExitCode(ExitStatus.notConnected.rawValue)
        }
        return "\(n)"
    }
}

extension ControlClientError {
    /// A relayd of the same version knows the route, so it is the message that is missing.
    fileprivate var notKept: String? {
        guard case .refused(_, _, 404, let server, let code, let message) = self,
            server == "relayd/\(Version.current)", code != .ringOff
        else { return nil }
        return message
    }
}
