import ArgumentParser
import ControlAPI
import Glibc
import NIOCore
import Synchronization

/// `relayctl stream`: video or audio to the head unit, in an app's place.
struct StreamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stream",
        abstract: "Stream video or audio to the head unit in an app's place, at its own pace.",
        discussion: """
            relayd starts the service in the app's session, says the file in it as fast as it is to be played, and \
            ends the service. Video is H.264 with start codes (Annex B), one picture after the other; audio is PCM, \
            16 kHz, 16 bit and one channel unless a WAV file or the options say otherwise. The app hears nothing of \
            it, and must not use the same service meanwhile.

            Names that end in .wav, .pcm or .raw are audio, everything else is video; --service says it where \
            the name does not. - reads standard input. ^C ends the service and prints what was streamed.

            --as NAME streams from an app that relayd itself is, as with relayctl send; it is a NAVIGATION app \
            unless --hmi-type says otherwise.

            relayd must have drive.enabled, and be yours: see Documentation/driving.md.

            EXAMPLES
              relayctl stream --app nav video.h264 --fps 30
              relayctl stream --app nav video.h264 --loop --width 1280 --height 720
              relayctl stream --app nav prompt.wav
              relayctl stream --as map video.h264
              ffmpeg -re -i film.mp4 -an -f h264 - | relayctl stream --app nav -

            \(ExitStatus.codes(
                ok: "streamed to its end, or until ^C",
                refused: "the head unit or relayd refused, or ended it: no such app, wrong type, off"))
            """)

    @Option(help: DriveTarget.appHelp, completion: Completions.apps)
    var app: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Stream from an app of relayd's own.", valueName: "name"))
    var ownName: String?

    @Option(help: ArgumentHelp("With --as: its app ID. Default: relayd-NAME.", valueName: "id"))
    var appID: String?

    @Option(
        help: ArgumentHelp(
            "With --as: its AppHMIType; repeatable. Default: NAVIGATION.", valueName: "type"))
    var hmiType: [String] = []

    @Option(
        help: ArgumentHelp(
            "video or audio. Default: what the file's name says.", valueName: "service"),
        completion: .list(["video", "audio"]))
    var service: String?

    @Option(help: ArgumentHelp("Pictures per second, 1 to 120 (30).", valueName: "number"))
    var fps: Double?

    @Option(help: ArgumentHelp("Of the pictures, in pixels (800).", valueName: "pixels"))
    var width: Int?

    @Option(help: ArgumentHelp("Of the pictures, in pixels (480).", valueName: "pixels"))
    var height: Int?

    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp("How video is sent: RAW or RTP (RAW).", valueName: "protocol"),
        completion: .list(StreamQueryKey.protocols))
    var videoProtocol: String?

    @Option(help: ArgumentHelp("Of audio: samples per second (16000).", valueName: "hertz"))
    var rate: Int?

    @Option(help: ArgumentHelp("Of audio: bits of a sample (16).", valueName: "bits"))
    var bits: Int?

    @Option(help: ArgumentHelp("Of audio: channels (1).", valueName: "number"))
    var channels: Int?

    @Flag(help: "Begin again at the end of the file, until ^C.")
    var loop = false

    @Option(help: ArgumentHelp("A session of the app. Default: its first.", valueName: "number"))
    var session: Int?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the head unit's grant, 10ms to 60s (10s).", valueName: "duration")
    )
    var timeout: String?

    @Argument(help: "The file; - reads standard input.", completion: .file())
    var file: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard (app == nil) != (ownName == nil) else {
            throw ValidationError(
                app == nil
                    ? "whose stream is it? expected --app APP, or --as NAME for an app of relayd's own"
                    : "--app and --as exclude each other")
        }
        if ownName == nil, appID != nil || !hmiType.isEmpty {
            throw ValidationError("--app-id and --hmi-type go with --as NAME")
        }
        if let service, service != "video", service != "audio" {
            throw ValidationError(
                "--service is \(SafeText.clean(service)); expected video or audio")
        }
        if isAudio, fps != nil || width != nil || height != nil || videoProtocol != nil {
            throw ValidationError("--fps, --width, --height and --protocol are about video")
        }
        if !isAudio, rate != nil || bits != nil || channels != nil {
            throw ValidationError("--rate, --bits and --channels are about audio")
        }
        if loop, file == "-" {
            throw ValidationError("--loop needs a file that can be read again, not a pipe")
        }
        if let timeout {
            guard let milliseconds = TimeArgument.milliseconds(timeout),
                DriveRequest.timeouts.contains(Int(milliseconds))
            else {
                throw ValidationError(
                    "--timeout is \(SafeText.clean(timeout)); expected 10ms to 60s, e.g. --timeout 10s"
                )
            }
        }
        if let app { try Names.check([app], "--app", example: "a name, an app ID or a number") }
    }

    private var isAudio: Bool {
        if let service { return service == "audio" }
        return [".wav", ".pcm", ".raw"].contains { file.lowercased().hasSuffix($0) }
    }

    func run() async throws {
        let source = try StreamSource(file, readsWave: isAudio, loops: loop)
        let client = try socket.client()
        let app: String
        if let ownName {
            app = try await ownApp(ownName, client)
        } else {
            app = self.app ?? ""
        }
        let path = Routes.path(Routes.stream, app) + "?" + query(source.wave)
        let stopping = Routes.path(Routes.stream, app) + "?service=\(isAudio ? "audio" : "video")"
        let isStopped = Atomic(false)
        let signals = CaughtSignals([SIGINT]) { _ in
            isStopped.store(true, ordering: .relaxed)
            Task { _ = try? await client.change(ActionReport.self, "DELETE", stopping) }
        }
        defer { signals.end() }
        let pieces = Mutex(source)
        let answer = try await client.upload(StreamReport.self, to: path) {
            if isStopped.load(ordering: .relaxed) { return nil }
            return try pieces.withLock { try $0.next { isStopped.load(ordering: .relaxed) } }
        }
        output.show(answer.json) { SafeText.clean(answer.value.summary) + "\n" }
    }

    private func ownApp(_ name: String, _ client: ControlClient) async throws -> String {
        var client = client
        client.timeout = client.timeout + .milliseconds(Int64(2 * OwnAppRequest.patience))
        let answer = try await client.change(
            OwnAppReport.self, "POST", Routes.apps,
            OwnAppRequest(
                name: name, appID: appID, hmiTypes: hmiType.isEmpty ? ["NAVIGATION"] : hmiType))
        return answer.value.app.map(String.init) ?? name
    }

    /// The query. Command-line options take precedence over the file's header.
    private func query(_ wave: WaveHeader?) -> String {
        let values: [(StreamQueryKey, String?)] = [
            (.service, isAudio ? "audio" : "video"),
            (.fps, fps.map { "\($0)" }), (.width, width.map(String.init)),
            (.height, height.map(String.init)), (.videoProtocol, videoProtocol),
            (.rate, (rate ?? wave?.rate).map(String.init)),
            (.bits, (bits ?? wave?.bits).map(String.init)),
            (.channels, (channels ?? wave?.channels).map(String.init)),
            (.session, session.map(String.init)),
            (.timeout, timeout.flatMap(TimeArgument.milliseconds).map { "\($0)" }),
        ]
        return values.compactMap { key, value in
            value.map { "\(key.rawValue)=\($0.percentEncoded())" }
        }
        .joined(separator: "&")
    }
}
