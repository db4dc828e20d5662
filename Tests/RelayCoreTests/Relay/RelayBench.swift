// A relay between a fake head unit and fake apps, in this process, over real TCP.

import Logging
import NIOCore
import NIOPosix
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

/// Everything a test of the whole hub needs; closed when `run` returns.
struct RelayBench {
    let relay: Relay
    let accessory: FakeAccessory
    let port: Int

    static func run(
        _ change: (inout RelayConfiguration) -> Void = { _ in },
        language: @escaping @Sendable (Switchboard) -> any AccessoryLanguage = { SDLLanguage($0) },
        _ body: (RelayBench) async throws -> Void
    ) async throws {
        var configuration = RelayConfiguration()
        // Fake head units confirm nothing unless a test makes them.
        configuration.farewellTimeout = .milliseconds(10)
        change(&configuration)
        let settings = configuration
        try await FakeAccessory.run { accessory in
            let relay = try await Relay.start(
                on: MultiThreadedEventLoopGroup.singleton.next(), configuration: settings,
                accessoryAddress: "tcp:127.0.0.1:\(accessory.port)",
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, language: language)
            let listener = try await AppListener.open(
                [ListenAddress(host: "127.0.0.1", port: 0)], for: relay)
            let bench = RelayBench(
                relay: relay, accessory: accessory, port: listener.addresses.first?.port ?? 0)
            do {
                try await body(bench)
            } catch {
                await listener.close()
                await relay.shutDown()
                throw error
            }
            await listener.close()
            await relay.shutDown()
        }
    }

    /// Connects the relay to the head unit, as the link supervisor does, and returns its end.
    func openLink() async throws -> FramePeer {
        let relay = relay
        _ = try await ClientBootstrap(group: relay.loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { relay.configureLink($0) }
            .connect(host: "127.0.0.1", port: accessory.port).get()
        return try await accessory.nextLink()
    }

    /// Connects an app that is granted a session.
    func openSession(_ session: UInt8, on headUnit: FramePeer) async throws -> FramePeer {
        let app = try await connectApp()
        try await app.send(.startService())
        try await headUnit.grant(session: session)
        _ = try await app.next()
        return app
    }

    func connectApp(readsByItself: Bool = true) async throws -> FramePeer {
        try await FramePeer.connect(port: port, readsByItself: readsByItself)
    }

    /// Waits until the hub is as described: a test's only way to wait for something that leaves no
    /// trace on a wire.
    func until(_ condition: (RelaySnapshot) -> Bool) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while NIODeadline.now() < deadline {
            if condition(try await relay.snapshot()) { return }
            await Task.yield()
        }
        throw FramePeer.Failure.nothingCame
    }
}
