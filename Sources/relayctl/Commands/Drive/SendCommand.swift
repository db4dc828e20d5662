import ArgumentParser
import ControlAPI
import NIOCore
import RelayCore
import SDLTraffic

/// `relayctl send`: send a message to the head unit in an app's place.
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

            @NAME sends a request that 'relayctl request' has saved, with what is to be filled in; @-1 is the last \
            one that was sent, @-2 the one before.

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
              relayctl send --app radio @greeting text=Hello
              relayctl send @-1

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
        help: "The RPC, such as Show, or @NAME; with --as it may be left out.",
        completion: Completions.requests)
    var rpc: String?

    @Argument(help: "Its parameters: NAME=VALUE, or NAME:=JSON.")
    var parameters: [String] = []

    @OptionGroup var options: RequestOptions

    @Option(
        help: ArgumentHelp("With --type response: the request it answers.", valueName: "number"))
    var correlation: Int?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard app == nil || ownName == nil, app != nil || ownName != nil || isKept else {
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
        let request = try options.request(rpc, app: app, unchecked: target.unchecked) { saved in
            try RequestTemplate(saved).filled(with: parameters)
        }
        guard ownName != nil || request.app != nil else {
            throw ValidationError(
                "whose RPC is it? \(rpc) does not say; expected --app APP, or --as NAME")
        }
        let number = ownName == nil ? nil : try await ownApp(client).value.app
        try await send(request, as: number.map(String.init) ?? request.app ?? "", client)
    }

    private var isKept: Bool { rpc?.hasPrefix("@") == true }

    /// Has relayd run that app, or unregister it.
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

    private func send(
        _ request: SavedRequest, as app: String, _ client: ControlClient
    ) async throws {
        let wanted = DriveRequest(
            rpc: request.rpc, type: request.type, parameters: request.parameters,
            set: request.set, unchecked: request.unchecked,
            timeoutMilliseconds: target.timeoutMilliseconds, session: target.session,
            correlationID: correlation)
        var pieces = [wanted]
        if let bulk = request.bulkFile {
            let bytes = try DriveFile.bytes(bulk)
            pieces =
                request.rpc == "PutFile"
                ? try FileUpload(bytes, wanted).pieces : [wanted.with(bulk: bytes)]
        }
        var outcome = "not sent, or no answer"
        defer { remember(request, outcome) }
        for (index, piece) in pieces.enumerated() {
            let answer = try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.send, app), piece)
            let report = answer.value
            outcome = report.resultCode ?? "sent"
            let isLast = index == pieces.count - 1 || report.success == false
            if isLast { output.show(answer.json) { DriveText(output).answer(report) } }
            if report.success == false { throw ExitCode(1) }
        }
    }

    /// Adds the request to the history, which is a convenience: failures are only reported.
    private func remember(_ request: SavedRequest, _ outcome: String) {
        guard let history = try? RequestHistory() else { return }
        var request = request
        request.name = ""
        request.set = request.set?.map(RequestTemplate.literal)
        // relayd's own app gets another number next time.
        if ownName != nil { request.app = nil }
        do throws(KeptFile.Problem) {
            try history.add(
                RequestHistory.Entry(
                    time: WallTime.now().rfc3339, request: request, outcome: outcome))
        } catch {
            Output.current.write(
                "relayctl: not in the history: \(SafeText.clean(error.description))\n", to: .error)
        }
    }
}
