// The hub's notices about anything below the frames reach the observers, and name the side that is to blame.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What the hub notices")
struct RelayNoticeTests {
    /// A hub with one app that has a session.
    private func start(
        _ change: (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> (bench: EmbeddedHub, app: EmbeddedChannel) {
        let bench = try EmbeddedHub(change)
        return (bench, try bench.app(session: 1))
    }

    @Test("an app that stops in the middle of a frame") func appStops() throws {
        let (bench, app) = try start()
        try app.writeInbound(ByteBuffer(bytes: [0x51, 7, 0, 1, 0, 0]))
        bench.loop.advanceTime(by: .seconds(10))
        let noticed = bench.noticed()
        #expect(noticed.map(\.0) == [.stoppedSending(bytes: 6, seconds: 10)])
        #expect(noticed.map(\.1) == [AppID(rawValue: 1)])
    }

    @Test("a head unit that stops in the middle of a frame") func headUnitStops() throws {
        let (bench, _) = try start()
        try bench.link.writeInbound(ByteBuffer(bytes: [0x51, 7, 0, 1, 0, 0]))
        bench.loop.advanceTime(by: .seconds(10))
        let noticed = bench.noticed()
        #expect(noticed.first?.0 == .stoppedSending(bytes: 6, seconds: 10))
        #expect(noticed.first?.1 == nil)
    }

    @Test("a head unit that takes nothing is noticed once, until it takes something")
    func headUnitDoesNotRead() throws {
        let (bench, app) = try start()
        bench.link.isWritable = false
        let frame = Frame.rpc(session: 1)
        for _ in 0..<3 {
            try app.writeInbound(frame.wire)
            bench.loop.advanceTime(by: .seconds(10))
        }
        let expected = RelayNotice.stoppedReading(
            queuedBytes: frame.wire.readableBytes, seconds: 10)
        let noticed = bench.noticed()
        #expect(noticed.map(\.0) == [expected])
        #expect(noticed.first?.1 == nil)
    }

    @Test("an app that is slowed down is told so once, however long it lasts")
    func paced() throws {
        let (bench, app) = try start { $0.framesPerSecond = 10 }
        for message in 1...40 {
            try app.writeInbound(Frame.rpc(session: 1, message: UInt32(message)).wire)
        }
        bench.loop.advanceTime(by: .seconds(6))
        let noticed = bench.noticed()
        #expect(noticed.map(\.0) == [.paced(framesPerSecond: 10)])
        #expect(noticed.first?.1 == AppID(rawValue: 1))
    }

    @Test("a busy link that takes its time is no stall") func slowLink() throws {
        let (bench, app) = try start()
        bench.link.isWritable = false
        try app.writeInbound(Frame.rpc(session: 1).wire)
        bench.loop.advanceTime(by: .seconds(9))
        bench.link.isWritable = true
        bench.link.pipeline.fireChannelWritabilityChanged()
        bench.loop.advanceTime(by: .seconds(10))
        #expect(bench.noticed().isEmpty)
    }

    @Test("garbage of an app, and what it looks like") func garbage() throws {
        let (bench, app) = try start()
        try app.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        let noticed = bench.noticed()
        guard case .garbage(let garbage)? = noticed.first?.0 else {
            Issue.record("nothing noticed")
            return
        }
        #expect(garbage.recognised == .http)
        #expect(noticed.first?.1 == AppID(rawValue: 1))
    }
}
