import ArgumentParser
import ControlAPI

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
