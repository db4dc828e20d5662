// What the hub notices below the frames reaches the observers, and names the side that is to blame.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What the hub notices")
struct RelayNoticeTests {
    private final class Bench {
        let loop = EmbeddedEventLoop()
        let queue = TapQueue(maximumBytes: 1 << 20)
        let switchboard: Switchboard
        let link: EmbeddedChannel
        let app: EmbeddedChannel

        init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
            var configuration = RelayConfiguration()
            change(&configuration)
            switchboard = Switchboard(
                loop: loop, configuration: configuration, accessoryAddress: "test:",
                tapQueue: queue, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: 2776)
            link = EmbeddedChannel(handler: LinkHandler(switchboard: switchboard), loop: loop)
            try link.connect(to: address).wait()
            app = EmbeddedChannel(loop: loop)
            try switchboard.accept(app)
            try app.connect(to: address).wait()
            try app.writeInbound(Frame.startService().wire)
            try link.writeInbound(Frame.startServiceACK(session: 1).wire)
        }

        /// Everything noticed so far, and about whom.
        func noticed() async -> [(RelayNotice, AppID?)] {
            queue.finish()
            var found: [(RelayNotice, AppID?)] = []
            while let items = await queue.nextBatch() {
                for case .noticed(let notice, let app, _) in items { found.append((notice, app)) }
            }
            return found
        }
    }

    @Test("an app that stops in the middle of a frame") func appStops() async throws {
        let bench = try Bench()
        try bench.app.writeInbound(ByteBuffer(bytes: [0x51, 7, 0, 1, 0, 0]))
        bench.loop.advanceTime(by: .seconds(10))
        let noticed = await bench.noticed()
        #expect(noticed.map(\.0) == [.stoppedSending(bytes: 6, seconds: 10)])
        #expect(noticed.map(\.1) == [AppID(rawValue: 1)])
    }

    @Test("a head unit that stops in the middle of a frame") func headUnitStops() async throws {
        let bench = try Bench()
        try bench.link.writeInbound(ByteBuffer(bytes: [0x51, 7, 0, 1, 0, 0]))
        bench.loop.advanceTime(by: .seconds(10))
        let noticed = await bench.noticed()
        #expect(noticed.first?.0 == .stoppedSending(bytes: 6, seconds: 10))
        #expect(noticed.first?.1 == nil)
    }

    @Test("a head unit that takes nothing is noticed once, until it takes something")
    func headUnitDoesNotRead() async throws {
        let bench = try Bench()
        bench.link.isWritable = false
        let frame = Frame.rpc(session: 1)
        for _ in 0..<3 {
            try bench.app.writeInbound(frame.wire)
            bench.loop.advanceTime(by: .seconds(10))
        }
        let expected = RelayNotice.stoppedReading(
            queuedBytes: frame.wire.readableBytes, seconds: 10)
        let noticed = await bench.noticed()
        #expect(noticed.map(\.0) == [expected])
        #expect(noticed.first?.1 == nil)
    }

    @Test("an app that is slowed down is told so once, however long it lasts")
    func paced() async throws {
        let bench = try Bench { $0.framesPerSecond = 10 }
        for message in 1...40 {
            try bench.app.writeInbound(Frame.rpc(session: 1, message: UInt32(message)).wire)
        }
        bench.loop.advanceTime(by: .seconds(6))
        let noticed = await bench.noticed()
        #expect(noticed.map(\.0) == [.paced(framesPerSecond: 10)])
        #expect(noticed.first?.1 == AppID(rawValue: 1))
    }

    @Test("a busy link that takes its time is no stall") func slowLink() async throws {
        let bench = try Bench()
        bench.link.isWritable = false
        try bench.app.writeInbound(Frame.rpc(session: 1).wire)
        bench.loop.advanceTime(by: .seconds(9))
        bench.link.isWritable = true
        bench.link.pipeline.fireChannelWritabilityChanged()
        bench.loop.advanceTime(by: .seconds(10))
        #expect(await bench.noticed().isEmpty)
    }

    @Test("garbage of an app, and what it looks like") func garbage() async throws {
        let bench = try Bench()
        try bench.app.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        let noticed = await bench.noticed()
        guard case .garbage(let garbage)? = noticed.first?.0 else {
            Issue.record("nothing noticed")
            return
        }
        #expect(garbage.recognised == .http)
        #expect(noticed.first?.1 == AppID(rawValue: 1))
    }
}
