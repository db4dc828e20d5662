// What `relayctl send` and `relayctl inject` have in common.

import ArgumentParser
import ControlAPI
import Glibc
import NIOCore

/// The session of a request, whether it is checked, and its timeout.
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

    /// A client that waits long enough: relayd answers when the head unit has answered or the timeout is
    /// over.
    func client(_ socket: SocketOptions) throws -> ControlClient {
        var client = try socket.client()
        let wait = timeoutMilliseconds ?? DriveRequest.usualTimeout
        client.timeout = client.timeout + .milliseconds(Int64(wait))
        return client
    }
}

/// Options of a request besides the RPC and the typed parameters, for `relayctl send` and
/// `relayctl request save`.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .customLong("parameters"),
        help: ArgumentHelp(
            "A file with parameters in JSON; - reads standard input.", valueName: "file"),
        completion: .file())
    var parameterFile: String?

    @Option(
        help: ArgumentHelp("A file with the bulk data, as for PutFile.", valueName: "file"),
        completion: .file())
    var bulk: String?

    @Option(
        help: ArgumentHelp(
            "request, response or notification. Default: what there is of that name.",
            valueName: "type"), completion: .list(["request", "response", "notification"]))
    var type: String?

    /// The request to send: `@NAME` is a saved one, and what is given here replaces its own values.
    ///
    /// - Parameter set: Makes the assignments from those that are saved.
    /// - Throws: `ValidationError`; `ExitCode` when no request is saved under that name.
    func request(
        _ rpc: String, app: String?, unchecked: Bool, set: ([String]) throws -> [String]
    ) throws -> SavedRequest {
        var request =
            rpc.hasPrefix("@")
            ? try RequestCommand.kept(rpc) : SavedRequest(name: "", rpc: rpc)
        let set = try set(request.set ?? [])
        request.set = set.isEmpty ? nil : set
        request.app = app ?? request.app
        request.type = type ?? request.type
        request.parameters = try parameterFile.map(DriveFile.parameters) ?? request.parameters
        if unchecked { request.unchecked = true }
        request.bulkFile = bulk.map(Self.absolute) ?? request.bulkFile
        return request
    }

    /// An absolute path, so that the file is found wherever the request is sent again.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}

enum DriveArguments {
    /// Refuses words that are not parameters; what is wrong with a parameter is for relayd to say.
    static func check(_ parameters: [String]) throws {
        for text in parameters where !text.contains("=") {
            throw ValidationError(
                "\"\(SafeText.clean(text))\" has no value; expected NAME=VALUE, e.g. mainField1=Hello"
            )
        }
    }
}
