// The hub around an accessory language, with one that is not SDL.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import Testing

@testable import RelayCore

@Suite("An accessory language beside SDL")
struct LanguageSeamTests {
    private static func bench(
        _ change: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (RelayBench) async throws -> Void
    ) async throws {
        try await RelayBench.run(change, language: { LineLanguage($0) }, body)
    }

    @Test("what the accessory says goes to all, an answer to who asked")
    func dialogue() async throws {
        try await Self.bench { bench in
            let car = try await bench.openLink()
            let (left, right) = (try await bench.connectApp(), try await bench.connectApp())
            try await bench.until { $0.apps.count == 2 }
            try await car.says("speed 50\n")
            try await left.hears("speed 50\n")
            try await right.hears("speed 50\n")
            try await right.says("?rpm\n")
            try await car.hears("?rpm\n")
            // In two pieces, as a link may bring it.
            try await car.says("=900")
            try await car.says("\nspeed 51\n")
            try await right.hears("=900\nspeed 51\n")
            try await left.hears("speed 51\n")
            try await bench.until { $0.link.counters.framesIn == 3 && $0.link.isUp }
        }
    }

    @Test("an app that does not read loses lines, is told how many, and holds nobody back")
    func slow() async throws {
        try await Self.bench { bench in
            let car = try await bench.openLink()
            let reader = try await bench.connectApp()
            let sleeper = try await bench.connectApp(readsByItself: false)
            try await bench.until { $0.apps.count == 2 }
            let line = String(repeating: "x", count: 59) + "\n"
            // Much at once: an app that reads nothing for a minute is disconnected.
            let lines = String(repeating: line, count: 20_000)
            var sent = 0
            var apps = try await bench.relay.snapshot().apps
            while apps.allSatisfy({ $0.refusedFrames == 0 }) {
                try #require(apps.count == 2)
                try await car.says(lines)
                try await reader.hears(lines)
                sent += 20_000
                apps = try await bench.relay.snapshot().apps
            }
            let lost = try await bench.lostLines()
            try await sleeper.channel.setOption(.autoRead, value: true).get()
            try await sleeper.hears(String(repeating: line, count: sent - lost))
            try await sleeper.hears("lost \(lost)\n")
            try await car.says("speed 52\n")
            try await sleeper.hears("speed 52\n")
            #expect(try await !bench.relay.snapshot().link.isHeld)
        }
    }

    @Test("limits, refusals and the end are the house's")
    func house() async throws {
        let change: (inout RelayConfiguration) -> Void = { $0.maximumApps = 1 }
        try await Self.bench(change) { bench in
            let car = try await bench.openLink()
            let app = try await bench.connectApp()
            try await bench.until { $0.apps.count == 1 }
            let surplus = try await bench.connectApp()
            try await surplus.hears("sorry: relayd: 1 app is connected already (apps.maximum)\n")
            try await surplus.closed()
            try await app.says(String(repeating: "y", count: 65))
            try await app.closed()
            try await bench.until { $0.departures.count == 1 && $0.apps.isEmpty }
            let departure = try await bench.relay.snapshot().departures.first
            #expect(departure?.reason == .messageTooLarge(bytes: 65, limit: 64))
            await bench.relay.shutDown()
            try await car.hears("bye\n")
        }
    }

    @Test("what is said when an app connects leaves in the same turn, both ways")
    func welcome() throws {
        let house = House(welcome: .words)
        let car = try house.channel(LinkConnection(hub: house.hub))
        let app = try house.app()
        house.loop.run()
        #expect(try app.readOutbound() == ByteBuffer(string: "hello\n"))
        #expect(try car.readOutbound() == ByteBuffer(string: "+\n"))
    }

    @Test("an app that is sent away when it connects was there, and nothing is left of it")
    func sentAway() throws {
        let house = House(welcome: .end)
        weak var connection: AppConnection?
        do {
            let app = try house.app()
            connection = try app.pipeline.syncOperations.handler(type: AppConnection.self)
            #expect(try app.readOutbound() == ByteBuffer(string: "hello\n"))
            app.close(promise: nil)
            house.loop.run()
        }
        #expect(house.hub.apps.isEmpty && house.hub.gate.isEmpty)
        #expect(connection == nil)
        let arrivals = house.tapQueue.takeAll().map { item in
            if case .appConnected = item { true } else { false }
        }
        #expect(arrivals == [true, false], "it came before it went")
    }

    /// A hub that speaks in lines, on a clock that stands still.
    private struct House {
        let loop = EmbeddedEventLoop()
        let tapQueue = TapQueue(maximumBytes: 1 << 20)
        let hub: Switchboard

        init(welcome: LineLanguage.Welcome) {
            hub = Switchboard(
                loop: loop, configuration: RelayConfiguration(), accessoryAddress: "test:",
                tapQueue: tapQueue,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                language: { LineLanguage($0, welcome: welcome) })
        }

        func app() throws -> EmbeddedChannel {
            let channel = EmbeddedChannel(loop: loop)
            try hub.gate.accept(channel)
            return try connected(channel)
        }

        func channel(_ handler: any ChannelHandler) throws -> EmbeddedChannel {
            try connected(EmbeddedChannel(handler: handler, loop: loop))
        }

        private func connected(_ channel: EmbeddedChannel) throws -> EmbeddedChannel {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
            return channel
        }
    }
}

extension RelayBench {
    fileprivate func lostLines() async throws -> Int {
        try await relay.snapshot().apps.reduce(0) { $0 + Int($1.refusedFrames) }
    }
}

extension FramePeer {
    fileprivate func says(_ text: String) async throws {
        try await send(bytes: ByteBuffer(string: text))
    }

    fileprivate func hears(_ text: String) async throws {
        let bytes = try await next(bytes: text.utf8.count)
        #expect(String(buffer: bytes) == text)
    }
}
