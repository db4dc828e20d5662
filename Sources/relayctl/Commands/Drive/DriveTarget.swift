// What `relayctl send` and `relayctl inject` have in common.

import ArgumentParser
import ControlAPI
import NIOCore

/// In which session, whether it is checked, and how long it may take.
struct DriveTarget: ParsableArguments {
    @Option(help: ArgumentHelp("A session of the app. Default: its first.", valueName: "number"))
    var session: Int?

    @Flag(help: "Compare nothing with the RPC specification.")
    var unchecked = false

    @Option(help: ArgumentHelp("How long to wait, 10ms to 60s (10s).", valueName: "duration"))
    var timeout: String?

    static let appHelp = ArgumentHelp(
        "Name or part of it, app ID, or the number that relayctl status shows.", valueName: "app")

    func check(app: String?, rpc: String?) throws {
        if let app { try Names.check([app], "--app", example: "a name, an app ID or a number") }
        if let rpc { try Names.check([rpc], "<rpc>", example: "the name of an RPC such as Show") }
        if let timeout {
            guard let milliseconds = timeoutMilliseconds,
                DriveRequest.timeouts.contains(milliseconds)
            else {
                throw ValidationError(
                    "--timeout is \(SafeText.clean(timeout)); expected 10ms to 60s, e.g. --timeout 10s"
                )
            }
        }
    }

    var timeoutMilliseconds: Int? { timeout.flatMap(TimeArgument.milliseconds).map { Int($0) } }

    /// relayd answers when the head unit has, or its time is over.
    func client(_ socket: SocketOptions) throws -> ControlClient {
        var client = try socket.client()
        let wait = timeoutMilliseconds ?? DriveRequest.usualTimeout
        client.timeout = client.timeout + .milliseconds(Int64(wait))
        return client
    }
}

enum DriveArguments {
    /// What is wrong with a parameter is relayd's to say; that it is none is said here.
    static func check(_ parameters: [String]) throws {
        for text in parameters where !text.contains("=") {
            throw ValidationError(
                "\"\(SafeText.clean(text))\" has no value; expected NAME=VALUE, e.g. mainField1=Hello"
            )
        }
    }
}
