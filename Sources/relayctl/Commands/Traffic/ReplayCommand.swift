import ArgumentParser
import ControlAPI
import NIOCore
import NIOPosix
import Replays

/// `relayctl replay`: play the app of a recording to a live head unit.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Play the app of a recording to a head unit, and compare the answers.",
        discussion: """
            Sends what the recorded app sent, in the same order, and waits where it had waited: \
            for answers, and for the first of each kind of notification. With --check the answers \
            are compared with the recorded ones: result code, success and parameters. Not compared \
            are hashID, spaceAvailable, the values of vehicle data, and how long an answer took.

            The other way round, relayd plays the head unit of a recording: relayd --accessory \
            replay:FILE.

            EXAMPLES
              relayctl replay bug.pcapng --to relayd
              relayctl replay bug.pcapng --to 127.0.0.1:12345 --app Map --speed max --check

            \(ExitStatus.codes(
                ok: "all was sent; with --check: the answers were the recorded ones",
                failed: "it did not end, or the answers differ",
                unreachable: "relayd is not running, it could not connect, or nothing was answered",
                refused: "the file cannot be read, is not a trace, or has no such app"))
            """)

    @Argument(
        help: ArgumentHelp("The trace.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var file: String

    @Option(
        help: ArgumentHelp(
            "Where a head unit or a relayd listens, or relayd: where the running one lets apps connect.",
            valueName: "host:port"))
    var to: String

    @Option(
        help: ArgumentHelp("Which of several apps, by name or app ID.", valueName: "name"))
    var app: String?

    @Option(
        help: ArgumentHelp(
            "How fast the app's own pauses pass: 0.1 to 100, or max.", valueName: "factor"))
    var speed = "1"

    @Flag(help: "Compare the answers with the recorded ones.")
    var check = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard !file.isEmpty, file != "-" else {
            throw ValidationError("<file> is \"\(file)\"; expected the path of a trace")
        }
        if to != "relayd", SampleAppCommand.endpoint(to) == nil {
            throw ValidationError(
                "--to is \"\(to)\"; expected relayd or HOST:PORT, like 127.0.0.1:12345")
        }
        if ReplaySpeed(speed) == nil {
            throw ValidationError(
                "--speed is \"\(speed)\"; expected a number between 0.1 and 100, or max")
        }
    }

    func run() async throws {
        let (recording, chosen) = try TraceFailure.told {
            let chosen = try RecordedAppChoice(file).app(app, in: file)
            return (try Recording(file, .app), chosen)
        }
        let (place, endpoint) = try await target()
        var options = RecordedApp.Options()
        options.speed = ReplaySpeed(speed) ?? .factor(1)
        options.compares = check
        let result: RecordedAppHandler.Result
        do {
            result = try await Self.play(options, recording, chosen, endpoint)
        } catch {
            Output.current.write(
                "relayctl: cannot connect to \(SafeText.line(place)): \(ConnectFailure(error))\n"
                    + "→ \(ConnectFailure.remedy(wasAsked: to == "relayd", option: "replay --to"))\n",
                to: .error)
            throw ExitCode(ExitStatus.notRunning.rawValue)
        }
        let report = ReplayReport(
            file: file, app: chosen.name, to: place, checks: check, result)
        let json = String(decoding: try APICoding.encode(report), as: UTF8.self)
        output.show(json, as: { report.text })
        if report.exitStatus != .ok { throw ExitCode(report.exitStatus.rawValue) }
    }

    /// - Throws: `ControlClientError` when relayd cannot be asked.
    private func target() async throws -> (String, (host: String, port: Int)) {
        if let endpoint = SampleAppCommand.endpoint(to) { return (to, endpoint) }
        let server = try await socket.client().status().value.server
        guard let place = server.nearestEndpoint, let endpoint = SampleAppCommand.endpoint(place)
        else {
            Output.current.write(
                "relayctl: relayd runs, but apps cannot connect to it\n"
                    + "→ relayctl status has the reason; relayctl server on opens the port\n",
                to: .error)
            throw ExitCode(ExitStatus.notRunning.rawValue)
        }
        return (SafeText.clean(place), endpoint)
    }

    /// - Throws: When the connection cannot be made.
    private static func play(
        _ options: RecordedApp.Options, _ recording: Recording, _ chosen: RecordedAppChoice.App,
        _ endpoint: (host: String, port: Int)
    ) async throws -> RecordedAppHandler.Result {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let result = loop.makePromise(of: RecordedAppHandler.Result.self)
        let id = chosen.id
        do {
            _ = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(10))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            RecordedAppHandler(options, recording, of: id, result: result))
                    }
                }
                .connect(host: endpoint.host, port: endpoint.port).get()
        } catch {
            result.fail(error)
            throw error
        }
        return try await result.futureResult.get()
    }
}
