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

            --as NAME sends it from an app that relayd itself is: it registers when it is first named, and stays \
            until --leave, the head unit ends it or the link is lost.

            relayd must have drive.enabled, and be yours: see Documentation/driving.md.

            EXAMPLES
              relayctl send --app radio Show mainField1=Hello mainField2=
              relayctl send --app radio Alert alertText1=Hi duration=5000
              relayctl send --app radio Show --parameters show.json
              relayctl send --app radio PutFile syncFileName=a.png \\
                fileType=GRAPHIC_PNG --bulk a.png
              relayctl send --app radio Alert duration=5 --unchecked
              relayctl send --as "RPC tester" Show mainField1=Hello
              relayctl send --as "RPC tester" --leave

            \(ExitStatus.codes(
                ok: "the head unit has done it", failed: "the head unit has refused",
                refused: "no answer in time, or relayd refused: no such app, a wrong parameter, off"))
            """)

    @Option(help: DriveTarget.appHelp, completion: Completions.apps)
    var app: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Send from an app of relayd's own.", valueName: "name"))
    var ownName: String?

    @Option(
        help: ArgumentHelp(
            "With --as: its app ID. Default: relayd-NAME.", valueName: "id"))
    var appID: String?

    @Option(
        help: ArgumentHelp(
            "With --as: its AppHMIType, such as NAVIGATION; repeatable.", valueName: "type"))
    var hmiType: [String] = []

    @Flag(help: "With --as: unregister and leave.")
    var leave = false

    @OptionGroup var target: DriveTarget

    @Argument(
        help: "The RPC, such as Show; with --as it may be left out.",
        completion: Completions.functions)
    var rpc: String?

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
        guard (app == nil) != (ownName == nil) else {
            throw ValidationError(
                app == nil
                    ? "whose RPC is it? expected --app APP, or --as NAME for an app of relayd's own"
                    : "--app and --as exclude each other")
        }
        if ownName == nil, leave || appID != nil || !hmiType.isEmpty {
            throw ValidationError("--leave, --app-id and --hmi-type go with --as NAME")
        }
        if leave, rpc != nil {
            throw ValidationError("--leave goes without an RPC; send it first")
        }
        if rpc == nil, ownName == nil {
            throw ValidationError("what is to be sent? expected the name of an RPC such as Show")
        }
        try target.check(app: app ?? ownName, rpc: rpc)
        try DriveArguments.check(parameters)
    }

    func run() async throws {
        let client = try target.client(socket)
        guard let rpc else {
            let answer = try await ownApp(client)
            output.show(answer.json) { SafeText.clean(answer.value.summary) + "\n" }
            return
        }
        let number = ownName == nil ? nil : try await ownApp(client).value.app
        try await send(rpc, as: number.map(String.init) ?? app ?? "", client)
    }

    /// Has relayd be that app, or leave.
    private func ownApp(
        _ client: ControlClient
    ) async throws -> ControlClient.Answer<OwnAppReport> {
        var client = client
        client.timeout = client.timeout + .milliseconds(Int64(2 * OwnAppRequest.patience))
        return try await client.change(
            OwnAppReport.self, "POST", Routes.apps,
            OwnAppRequest(
                name: ownName ?? "", appID: appID, hmiTypes: hmiType.isEmpty ? nil : hmiType,
                leave: leave ? true : nil))
    }

    private func send(_ rpc: String, as app: String, _ client: ControlClient) async throws {
        var wanted = DriveRequest(
            rpc: rpc, type: type, parameters: try parameterFile.map(DriveFile.parameters),
            set: parameters.isEmpty ? nil : parameters,
            unchecked: target.unchecked ? true : nil,
            timeoutMilliseconds: target.timeoutMilliseconds, session: target.session,
            correlationID: correlation)
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
                DriveReport.self, "POST", Routes.path(Routes.send, app), piece)
            let report = answer.value
            let isLast = index == pieces.count - 1 || report.success == false
            if isLast { output.show(answer.json) { DriveText(output).answer(report) } }
            if report.success == false { throw ExitCode(1) }
        }
    }
}
