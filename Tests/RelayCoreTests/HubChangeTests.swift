// What changes while the hub works, a limit or the link: the hub between embedded channels.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("A limit that a reload changes, and a link that changes, count at once")
struct HubChangeTests {
    private func reload(_ hub: EmbeddedHub, _ change: (inout RelayConfiguration) -> Void) {
        var configuration = hub.switchboard.configuration
        change(&configuration)
        hub.switchboard.reconfigure(configuration, accessoryAddress: "test:")
    }

    private func paused(_ hub: EmbeddedHub) -> Int {
        hub.switchboard.apps.values.count { $0.isPaused }
    }

    @Test("frames a second: a session that is held goes on by the new limit, or without one")
    func framesPerSecond() throws {
        let hub = try EmbeddedHub { $0.framesPerSecond = 10 }
        let app = try hub.app(session: 1)
        for message in 1...40 as ClosedRange<UInt32> {
            try app.says(.rpc(session: 1, message: message))
        }
        #expect(try hub.heard().count == 10)
        reload(hub) { $0.framesPerSecond = 20 }
        hub.loop.advanceTime(by: .milliseconds(100))
        #expect(try hub.heard().count == 10)
        reload(hub) { $0.framesPerSecond = 15 }
        hub.loop.advanceTime(by: .milliseconds(100))
        #expect(try hub.heard().isEmpty)
        reload(hub) { $0.framesPerSecond = 0 }
        hub.loop.advanceTime(by: .milliseconds(100))
        #expect(try hub.heard().count == 20)
    }

    @Test("bytes that wait for the link: an app that is over the new limit is not read")
    func linkQueue() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app(session: 1)
        hub.setBusy(true)
        try app.says(.data(session: 1, bytes: 3000))
        reload(hub) { $0.linkQueueBytes = 4096 }
        #expect(paused(hub) == 0)
        try app.says(.data(session: 1, message: 2, bytes: 3000))
        #expect(paused(hub) == 1)
        hub.setBusy(false)
        #expect(paused(hub) == 0)
        #expect(try hub.heard().count == 2)
    }

    @Test("an app that holds the link holds the next one for no longer than its grace")
    func heldAcrossLinks() throws {
        let hub = try EmbeddedHub { $0.whenLinkLost = .keep }
        let slow = try hub.app(session: 1)
        _ = try hub.app(session: 2)
        slow.isWritable = false
        try hub.link.says(.rpc(session: 1, .notification))
        #expect(hub.switchboard.isLinkHeld)
        try hub.link.close().wait()
        let reads = ReadCounter()
        let next = EmbeddedChannel(
            handlers: [reads, LinkConnection(hub: hub.switchboard)], loop: hub.loop)
        try next.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
        next.read()
        #expect(reads.count == 0, "it is held")
        hub.loop.advanceTime(by: .milliseconds(50))
        #expect(reads.count == 1, "it is read")
    }

    @Test("a link that is lost while frames wait is not said to stand still when it is back")
    func stallAcrossLinks() throws {
        let hub = try EmbeddedHub { $0.whenLinkLost = .keep }
        let app = try hub.app(session: 1)
        hub.setBusy(true)
        try app.says(.data(session: 1, bytes: 3000))
        hub.loop.advanceTime(by: .seconds(9))
        try hub.link.close().wait()
        let next = try hub.nextLink()
        try app.says(.startService())
        #expect(try next.hears() == .startService())
        try next.says(.startServiceACK(session: 1))
        next.isWritable = false
        try app.says(.data(session: 1, bytes: 3000))
        hub.loop.advanceTime(by: .seconds(9))
        let early = hub.notices()
        #expect(early.isEmpty)
        hub.loop.advanceTime(by: .seconds(1))
        let told = hub.notices()
        #expect(told == [.stoppedReading(queuedBytes: 3012, seconds: 10)])
    }

    @Test("whoever stands behind the hub's handler sees it close the link, and none of its writes")
    func closesThroughTheChannel() throws {
        let hub = try EmbeddedHub()
        let behind = Behind()
        try hub.link.pipeline.syncOperations.addHandler(behind)
        let app = try hub.app(session: 1)
        try app.says(.rpc(session: 1))
        #expect(try hub.heard() == [.rpc(session: 1)])
        #expect(!behind.hasSeenClose)
        hub.switchboard.reopenLink(reason: "asked for")
        #expect(behind.hasSeenClose)
        #expect(behind.writes == 0)
    }
}

private final class Behind: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var writes = 0
    private(set) var hasSeenClose = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writes += 1
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        hasSeenClose = true
        context.close(mode: mode, promise: promise)
    }
}
