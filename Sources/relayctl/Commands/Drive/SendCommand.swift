import ArgumentParser
import ControlAPI
import NIOCore

/// `relayctl send`: say something to the head unit in an app's place.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send an RPC to the head unit in an app's place, and show the answer.",
        discussion: """
            relayd sends the RPC in the app's session with IDs of its own; the answer reaches nobody but you. \
            Parameters are NAME=VALUE: members of structs with dots, elements of arrays with [0], [1], …; \
            values get the type of the RPC specification. NAME= is empty on purpose, NAME:=JSON takes JSON. \
            They are checked first; --unchecked sends them all the same.

            A file for PutFile is sent in pieces, each with its checksum.

            relayd must have drive.enabled, and be yours: see Documentation/driving.md.

            EXAMPLES
              relayctl send --app radio Show mainField1=Hello mainField2=
              relayctl send --app radio Alert alertText1=Hi duration=5000
              relayctl send --app radio Show --parameters show.json
              relayctl send --app radio PutFile syncFileName=a.png \\
                fileType=GRAPHIC_PNG --bulk a.png
              relayctl send --app radio Alert duration=5 --unchecked

            \(ExitStatus.codes(
                ok: "the head unit has done it", failed: "the head unit has refused",
                refused: "no answer in time, or relayd refused: no such app, a wrong parameter, off"))
            """)

    @OptionGroup var target: DriveTarget

    @Argument(help: "The RPC, such as Show.", completion: Completions.functions)
    var rpc: String

    @Argument(help: "Its parameters: NAME=VALUE, or NAME:=JSON.")
    var parameters: [String] = []

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

    @Option(
        help: ArgumentHelp("With --type response: the request it answers.", valueName: "number"))
    var correlation: Int?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try target.check(rpc)
        try DriveArguments.check(parameters)
    }

    func run() async throws {
        var wanted = DriveRequest(
            rpc: rpc, type: type, parameters: try parameterFile.map(DriveFile.parameters),
            set: parameters.isEmpty ? nil : parameters,
            unchecked: target.unchecked ? true : nil,
            timeoutMilliseconds: target.timeoutMilliseconds, session: target.session,
            correlationID: correlation)
        let client = try target.client(socket)
        var pieces = [wanted]
        if let bulk {
            let bytes = try DriveFile.bytes(bulk)
            pieces =
                rpc == "PutFile"
                ? try FileUpload(bytes, wanted).pieces : [wanted.with(bulk: bytes)]
        }
        wanted = pieces[0]
        for (index, piece) in pieces.enumerated() {
            let answer = try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.send, target.app), piece)
            let report = answer.value
            let isLast = index == pieces.count - 1 || report.success == false
            if isLast { output.show(answer.json) { DriveText(output).answer(report) } }
            if report.success == false { throw ExitCode(1) }
        }
    }
}

/// Whom it concerns, and how long it may take.
struct DriveTarget: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Name or part of it, app ID, or the number that relayctl status shows.",
            valueName: "app"),
        completion: Completions.apps)
    var app: String

    @Option(help: ArgumentHelp("A session of the app. Default: its first.", valueName: "number"))
    var session: Int?

    @Flag(help: "Compare nothing with the RPC specification.")
    var unchecked = false

    @Option(help: ArgumentHelp("How long to wait, 10ms to 60s (10s).", valueName: "duration"))
    var timeout: String?

    func check(_ rpc: String) throws {
        try Names.check([app], "--app", example: "a name, an app ID or a number")
        try Names.check([rpc], "<rpc>", example: "the name of an RPC such as Show")
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
