// A hub that speaks OpenXC, between a vehicle interface and clients made of code, over real TCP.

import Logging
import NIOCore
import NIOPosix
import OpenXCProtocol
import RelayCore
import RelayTesting
import Testing

@testable import OpenXCRelay

/// A hub between a vehicle interface and clients made of code.
struct VehicleBench {
    let relay: Relay
    let accessory: FakeAccessory
    let port: Int

    static func run(
        _ settings: OpenXCConfiguration = OpenXCConfiguration(),
        _ body: (VehicleBench) async throws -> Void
    ) async throws {
        var configuration = RelayConfiguration()
        configuration.farewellTimeout = .milliseconds(100)
        let hub = configuration
        try await FakeAccessory.run { accessory in
            let relay = try await Relay.start(
                on: MultiThreadedEventLoopGroup.singleton.next(), configuration: hub,
                accessoryAddress: "openxc+tcp:127.0.0.1:\(accessory.port)",
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                // A long timeout for busy machines: later answers would go to all clients.
                language: {
                    OpenXCLanguage(
                        $0, settings: OpenXCSettings(settings), answerTimeout: .minutes(1))
                })
            let listener = try await AppListener.open(
                [ListenAddress(host: "127.0.0.1", port: 0)], for: relay)
            let bench = VehicleBench(
                relay: relay, accessory: accessory, port: listener.addresses.first?.port ?? 0)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(bench))
            } catch {
                outcome = .failure(error)
            }
            await listener.close()
            await relay.shutDown()
            try outcome.get()
        }
    }

    /// The vehicle interface's end, after relayd's first questions have been read.
    func openLink(hearing words: String = "") async throws -> FramePeer {
        let relay = relay
        _ = try await ClientBootstrap(group: relay.loop)
            .channelInitializer { relay.configureLink($0) }
            .connect(host: "127.0.0.1", port: accessory.port).get()
        let link = try await accessory.nextLink()
        try await link.hears(
            words + #"{"command":"platform"}"# + "\0" + #"{"command":"version"}"# + "\0")
        return link
    }

    /// A connected client that the hub knows.
    func client(readsByItself: Bool = true) async throws -> FramePeer {
        let before = try await relay.snapshot().apps.count
        let client = try await FramePeer.connect(port: port, readsByItself: readsByItself)
        try await until { $0.apps.count > before }
        return client
    }

    func stop() async throws { await relay.shutDown() }

    func until(_ condition: (RelaySnapshot) -> Bool) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while NIODeadline.now() < deadline {
            if condition(try await relay.snapshot()) { return }
            await Task.yield()
        }
        throw FramePeer.Failure.nothingCame
    }
}

extension FramePeer {
    func says(_ text: String) async throws {
        try await send(bytes: ByteBuffer(string: text))
    }

    func says(_ content: VehicleMessage.Content) async throws {
        try await send(bytes: VehicleMessage(content).bytes(in: .json))
    }

    func answers(_ command: String, _ message: String) async throws {
        try await says(
            #"{"command_response":"\#(command)","message":"\#(message)","status":true}"# + "\0")
    }

    func hears(_ text: String) async throws {
        let bytes = try await next(bytes: text.utf8.count)
        #expect(String(buffer: bytes) == text)
    }

    func hears(_ message: VehicleMessage, in framing: MessageFraming) async throws {
        let wanted = try message.bytes(in: framing)
        #expect(try await next(bytes: wanted.readableBytes) == wanted)
    }
}

extension VehicleMessage {
    func bytes(in framing: MessageFraming) throws -> ByteBuffer {
        var bytes: [UInt8] = []
        try framing.append(self, to: &bytes)
        return ByteBuffer(bytes: bytes)
    }
}
