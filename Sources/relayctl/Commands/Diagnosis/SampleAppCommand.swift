import ArgumentParser
import ControlAPI
import Glibc
import NIOCore
import NIOPosix
import SampleApp

/// `relayctl sample-app`: a small app that connects through relayd to the head unit, for demos and for
/// checking that the path works before one's own app is to blame.
struct SampleAppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample-app",
        abstract: "Run a small app against relayd or any SDL head unit on TCP.",
        discussion: """
            Connects, registers, waits until it is on the screen, uploads an icon, shows text, \
            subscribes to vehicle data, and leaves. It connects to the address where the running \
            relayd listens for apps; with --connect it uses that address and does not ask relayd.

            \(ExitStatus.codes(
                ok: "all of it worked",
                failed: "it could not connect, or something did not work"))
            """)

    @Option(
        help: ArgumentHelp(
            "Where a head unit or a relayd elsewhere listens.", valueName: "host:port"))
    var connect: String?

    @Option(help: "App name, as the head unit shows it.")
    var name = SampleApp.Configuration().name

    @Option(help: "App ID; two apps on one head unit need different ones.")
    var appID = SampleApp.Configuration().appID

    @Flag(help: "Stay registered and show vehicle data until Ctrl-C.")
    var stay = false

    @Flag(help: "One JSON object per line: \"progress\", and \"outcome\" at the end.")
    var json = false

    @OptionGroup var socket: SocketOptions

    mutating func validate() throws {
        if let connect, Self.endpoint(connect) == nil {
            throw ValidationError(
                "--connect is \"\(connect)\"; expected HOST:PORT, like 127.0.0.1:2776 or [::1]:2776"
            )
        }
        guard !name.isEmpty, !appID.isEmpty else {
            throw ValidationError("--name and --app-id must not be empty")
        }
    }

    mutating func run() async throws {
        let client = connect == nil ? try socket.client() : nil
        let (place, endpoint) = try await target(client)
        if client != nil { say("using relayd on \(place)") }
        var configuration = SampleApp.Configuration()
        configuration.name = name
        configuration.appID = appID
        configuration.stays = stay

        let outcome: SampleApp.Outcome
        let isJSON = json
        let watch = client.map { client in
            HeadUnitWatch(ask: { try? await client.status().value.accessory }) {
                Self.say($0, isJSON: isJSON)
            }
        }
        do {
            // Ends when this block ends.
            async let _: Void? = watch?.run()
            outcome = try await Self.run(
                configuration, host: endpoint.host, port: endpoint.port, isJSON: json)
        } catch {
            fail("cannot connect to \(place): \(ConnectFailure(error))")
            write(
                "→ "
                    + ConnectFailure.remedy(
                        wasAsked: client != nil, option: "sample-app --connect"), to: STDERR_FILENO)
            throw ExitCode.failure
        }
        if case .failed(let reason) = outcome {
            fail(reason)
            throw ExitCode.failure
        }
        write(json ? Line(outcome: "done").text : "sample-app: done", to: STDOUT_FILENO)
    }

    /// The address as it is shown, and as it is connected to: the given one, or that of the running
    /// relayd.
    ///
    /// - Throws: `ControlClientError` when relayd cannot be asked.
    private func target(
        _ client: ControlClient?
    ) async throws -> (String, (host: String, port: Int)) {
        if let connect, let endpoint = Self.endpoint(connect) { return (connect, endpoint) }
        guard let server = try await client?.status().value.server,
            let place = server.nearestEndpoint, let endpoint = Self.endpoint(place)
        else {
            fail("relayd runs, but apps cannot connect to it")
            write(
                "→ relayctl status has the reason; relayctl server on opens the port",
                to: STDERR_FILENO)
            throw ExitCode.failure
        }
        return (SafeText.clean(place), endpoint)
    }

    private func say(_ line: String) { Self.say(line, isJSON: json) }

    private static func say(_ line: String, isJSON: Bool) {
        write(isJSON ? Line(progress: line).text : "sample-app: \(line)", to: STDOUT_FILENO)
    }

    private func fail(_ reason: String) {
        write("sample-app: \(reason)", to: STDERR_FILENO)
        if json { write(Line(outcome: "failed", reason: reason).text, to: STDOUT_FILENO) }
    }

    /// One line of the output with --json.
    private struct Line: Encodable {
        var progress: String?
        var outcome: String?
        var reason: String?

        var text: String {
            JSONText.safe(
                String(decoding: (try? APICoding.encodeLine(self)) ?? [], as: UTF8.self))
        }
    }

    /// Runs the app to its end on a connection of its own.
    ///
    /// - Throws: When the connection cannot be made.
    private static func run(
        _ configuration: SampleApp.Configuration, host: String, port: Int, isJSON: Bool
    ) async throws -> SampleApp.Outcome {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let outcome = loop.makePromise(of: SampleApp.Outcome.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(10))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let handler = SampleAppHandler(
                            SampleApp(configuration: configuration), outcome: outcome
                        ) { line in
                            say(line, isJSON: isJSON)
                        }
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
                .connect(host: host, port: port).get()
        } catch {
            outcome.fail(error)
            throw error
        }
        let interrupt = configuration.stays ? leaveOnInterrupt(channel) : nil
        defer { interrupt?.end() }
        return try await outcome.futureResult.get()
    }

    /// The first Ctrl-C lets the app say goodbye, the second ends the program.
    private static func leaveOnInterrupt(_ channel: any Channel) -> CaughtSignals {
        CaughtSignals([SIGINT]) { _ in
            channel.eventLoop.execute {
                let handler = try? channel.pipeline.syncOperations.handler(
                    type: SampleAppHandler.self)
                handler?.leave()
            }
        }
    }

    /// HOST:PORT, with brackets around an IPv6 address; nil when it is neither.
    static func endpoint(_ text: String) -> (host: String, port: Int)? {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), Int(port))
    }
}

/// Writes a line at once: buffered progress is useless.
private func write(_ line: String, to descriptor: Int32) {
    let bytes = Array((line + "\n").utf8)
    bytes.withUnsafeBytes { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
