// The hub over a real pty that is read slowly: important frames do not wait behind a flood.

import AccessoryLinks
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("Apps on one slow serial link")
struct SlowSerialLinkTests {
    @Test("the RPCs of two apps overtake a third app's flood of PutFiles")
    func overtaking() async throws {
        let terminal = try PseudoTerminal()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var configuration = RelayConfiguration()
        configuration.farewellTimeout = .milliseconds(10)
        let relay = try await Relay.start(
            on: loop, configuration: configuration, accessoryAddress: "serial:\(terminal.path)",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let transport = try SerialTransport(AccessoryAddress("serial:\(terminal.path)"))
        let link = try await transport.open(on: loop) { channel in
            relay.configureLink(channel, kernelBytes: LinkOutputQueue.gauge(of: channel))
        }
        let listener = try await AppListener.open(
            [ListenAddress(host: "127.0.0.1", port: 0)], for: relay)
        let headUnit = HeadUnit(terminal: terminal)
        let port = listener.addresses.first?.port ?? 0
        let flooder = try await headUnit.open(session: 1, port: port)
        let apps = [
            try await headUnit.open(session: 2, port: port),
            try await headUnit.open(session: 3, port: port),
        ]

        // The head unit reads nothing, so the flood fills the pty and then the hub's queue.
        let flood = Task {
            for message in UInt32(1)...32 {
                try await flooder.send(.data(session: 1, message: message, bytes: 65_000))
            }
        }
        try await until(relay) { $0.link.queuedBytes >= configuration.linkQueueBytes }
        for (index, app) in apps.enumerated() {
            try await app.send(.rpc(session: UInt8(index + 2)))
        }
        try await until(relay) { $0.apps.count { $0.counters.framesIn == 2 } == 2 }

        var before = 0
        var answered: Set<UInt8> = []
        while answered.count < 2 {
            let frame = try await headUnit.next()
            if frame.sessionID == 1 { before += 1 } else { answered.insert(frame.sessionID) }
        }
        // The frame that the pty was in the middle of; in a plain queue five come before them.
        #expect(before <= 1)
        for _ in before..<32 { #expect(try await headUnit.next().sessionID == 1) }
        try await flood.value
        // The pty's pace cannot be learnt from a moment: the flood goes on until it is known.
        let deadline = NIODeadline.now() + FramePeer.patience
        while try await relay.snapshot().link.drainRate ?? 0 == 0, NIODeadline.now() < deadline {
            let more = Task {
                for message in UInt32(33)...48 {
                    try await flooder.send(.data(session: 1, message: message, bytes: 65_000))
                }
            }
            for _ in 33...48 { _ = try await headUnit.next() }
            try await more.value
        }
        let rate = try await relay.snapshot().link.drainRate
        #expect(rate ?? 0 > 0, "the pty's pace was learnt")

        await listener.close()
        for app in apps + [flooder] { await app.close() }
        terminal.unplug()
        try? await link.close()
        await relay.shutDown()
    }

    private func until(_ relay: Relay, _ condition: (RelaySnapshot) -> Bool) async throws {
        let deadline = NIODeadline.now() + FramePeer.patience
        while NIODeadline.now() < deadline {
            if condition(try await relay.snapshot()) { return }
            await Task.yield()
        }
        throw FramePeer.Failure.nothingCame
    }
}

/// The far end of the cable.
private struct HeadUnit {
    let terminal: PseudoTerminal

    /// Connects an app and grants it a session.
    func open(session: UInt8, port: Int) async throws -> FramePeer {
        let app = try await FramePeer.connect(port: port)
        try await app.send(.startService())
        _ = try await next()
        try await terminal.write(
            Array(Frame.startServiceACK(session: session).wire.readableBytesView))
        _ = try await app.next()
        return app
    }

    /// The next whole frame.
    func next() async throws -> Frame {
        var wire = ByteBuffer(bytes: try await terminal.read(8))
        let version = (wire.getInteger(at: 0, as: UInt8.self) ?? 0) >> 4
        let payload = Int(wire.getInteger(at: 4, as: UInt32.self) ?? 0)
        let rest = payload + (version > 1 ? 4 : 0)
        if rest > 0 { wire.writeBytes(try await terminal.read(rest)) }
        return Frame(checked: wire)
    }
}
