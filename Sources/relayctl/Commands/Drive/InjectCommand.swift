import ArgumentParser
import ControlAPI
import Scenarios

/// `relayctl inject`: send a message to an app in the head unit's place.
struct InjectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inject",
        abstract: "Say a notification or an answer to an app in the head unit's place.",
        discussion: """
            The app takes it for the head unit's; the head unit does not know of it. Log, recordings and \
            dashboard show it as written by relayd. Instead of an RPC, one of these may be given:

              press BUTTON [long]          a button, or the ID of a soft button
              touch X,Y                    a tap on the screen
              hmi LEVEL                    FULL, LIMITED, BACKGROUND or NONE
              vehicle NAME=VALUE…          vehicle data
              driver-distraction on|off
              voice TEXT                   a voice command that the app has added

            relayd must have drive.enabled, and be yours: see Documentation/driving.md.

            EXAMPLES
              relayctl inject --app radio press OK
              relayctl inject --app radio press 7 long
              relayctl inject --app radio hmi BACKGROUND
              relayctl inject --app radio vehicle speed=88 gps.latitudeDegrees=42.3 \\
                gps.longitudeDegrees=-83
              relayctl inject --app radio OnButtonPress buttonName=OK \\
                buttonPressMode=SHORT

            \(ExitStatus.codes(
                ok: "said to the app",
                refused: "relayd refused: no such app, a wrong parameter, off"))
            """)

    @Option(help: DriveTarget.appHelp, completion: Completions.apps)
    var app: String

    @OptionGroup var target: DriveTarget

    @Argument(
        help: "The RPC, such as OnButtonPress, or a short form.",
        completion: .list(InjectShortForm.names + InjectShortForm.notifications))
    var rpc: String

    @Argument(help: "Its parameters: NAME=VALUE, or NAME:=JSON; or what the short form takes.")
    var parameters: [String] = []

    @Option(
        name: .customLong("parameters"),
        help: ArgumentHelp(
            "A file with parameters in JSON; - reads standard input.", valueName: "file"),
        completion: .file())
    var parameterFile: String?

    @Option(
        help: ArgumentHelp("notification or response. Default: notification.", valueName: "type"),
        completion: .list(["notification", "response"]))
    var type: String?

    @Option(
        help: ArgumentHelp("With --type response: the request it answers.", valueName: "number"))
    var correlation: Int?

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try target.check(app: app, rpc: rpc)
        guard InjectShortForm.names.contains(rpc) else {
            return try DriveArguments.check(parameters)
        }
        if parameterFile != nil || type != nil || correlation != nil {
            throw ValidationError(
                "\(rpc) is a short form; --parameters, --type and --correlation go with the name of an RPC"
            )
        }
        if rpc != "voice" { _ = try expanded(parameters) }
    }

    func run() async throws {
        let client = try target.client(socket)
        let words: [InjectShortForm.Words]
        if rpc == "voice" {
            let known = try await client.ask(
                AppReport.self, Routes.path(Routes.app, app)
            ).value
            words = try usable { () throws(InjectShortForm.Mistake) in
                try InjectShortForm.voice(parameters.joined(separator: " "), known.menu.commands)
            }
        } else if InjectShortForm.names.contains(rpc) {
            words = try expanded(parameters)
        } else {
            words = [.init(rpc: rpc, set: parameters)]
        }
        let file = try parameterFile.map(DriveFile.parameters)
        for (index, said) in words.enumerated() {
            let answer = try await client.change(
                DriveReport.self, "POST", Routes.path(Routes.inject, app),
                DriveRequest(
                    rpc: said.rpc, type: type, parameters: file,
                    set: said.set.isEmpty ? nil : said.set,
                    unchecked: target.unchecked ? true : nil,
                    timeoutMilliseconds: target.timeoutMilliseconds, session: target.session,
                    correlationID: correlation))
            if index == words.count - 1 {
                output.show(answer.json) { DriveText(output).answer(answer.value) }
            }
        }
    }

    private func expanded(_ parameters: [String]) throws(ValidationError) -> [InjectShortForm.Words]
    {
        try usable { () throws(InjectShortForm.Mistake) in
            try InjectShortForm.expand(rpc, parameters)
        }
    }

    /// Turns a mistake in the words into a command-line error.
    private func usable(
        _ words: () throws(InjectShortForm.Mistake) -> [InjectShortForm.Words]
    ) throws(ValidationError) -> [InjectShortForm.Words] {
        do throws(InjectShortForm.Mistake) { return try words() } catch {
            throw ValidationError(error.message)
        }
    }
}
