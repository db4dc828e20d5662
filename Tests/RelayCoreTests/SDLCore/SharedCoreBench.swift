// The hub between apps and the stand-in for sdl_core, on embedded channels and a clock that moves when told.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

/// The hub between apps and the stand-in.
final class SharedCoreBench {
    let loop = EmbeddedEventLoop()
    let switchboard: Switchboard
    var core: SDLCoreModel
    private let link: EmbeddedChannel
    let connection: SDLCoreModel.ConnectionID
    private var fromAccessory = FrameDecoder(rules: .fromAccessory(), recovery: .fail)

    /// - Parameter framesPerSecond: With 0 the hub does not pace apps.
    init(
        seed: UInt64, habits: SDLCoreHabits = SDLCoreHabits(), framesPerSecond: Int = 0
    ) throws {
        var configuration = RelayConfiguration()
        configuration.framesPerSecond = framesPerSecond
        switchboard = Switchboard(
            loop: loop, configuration: configuration, accessoryAddress: "test:",
            tapQueue: TapQueue(maximumBytes: 1 << 20),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        core = SDLCoreModel(habits: habits, seed: seed)
        link = EmbeddedChannel(handler: LinkConnection(hub: switchboard), loop: loop)
        connection = core.connect(at: loop.now)
        try Self.connect(link)
    }

    private static func connect(_ channel: EmbeddedChannel) throws {
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
    }

    func connect() throws -> SharedApp {
        let channel = EmbeddedChannel(loop: loop)
        try switchboard.gate.accept(channel)
        try Self.connect(channel)
        return SharedApp(channel)
    }

    /// Lets both sides talk for some time.
    func pass(_ time: TimeAmount) throws {
        let end = loop.now + time
        try exchange()
        while loop.now < end {
            loop.advanceTime(by: .milliseconds(1))
            core.advance(to: loop.now)
            try exchange()
        }
    }

    private func exchange() throws {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            loop.run()
            while let bytes = try link.readOutbound(as: ByteBuffer.self) {
                isQuiet = false
                core.receive(bytes, on: connection, at: loop.now)
            }
            for output in core.takeOutput() {
                isQuiet = false
                if case .frame(let sent) = output { try link.writeInbound(sent.frame.wire) }
            }
        }
    }

    func register(_ app: SharedApp, _ appID: String) throws -> String? {
        try app.say(.startService())
        try pass(.milliseconds(20))
        app.session = try app.heard().last?.sessionID ?? 0
        try app.say(.register(app.session, appID))
        try pass(.milliseconds(60))
        return try app.heard().first { $0.correlationID == 65_529 }?.resultCode
    }
}

final class SharedApp {
    let channel: EmbeddedChannel
    var session: UInt8 = 0
    private var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)

    init(_ channel: EmbeddedChannel) {
        self.channel = channel
    }

    func say(_ frames: Frame...) throws {
        for frame in frames { try channel.writeInbound(frame.wire) }
    }

    func heard() throws -> [Frame] {
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            decoder.append(bytes)
        }
        var frames: [Frame] = []
        while let frame = try decoder.next() { frames.append(frame) }
        return frames
    }
}
