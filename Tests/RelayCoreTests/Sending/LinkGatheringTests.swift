// When the frames of apps leave for the head unit: together in one write, and never late.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("What apps say leaves once a turn of the loop")
struct LinkGatheringTests {
    private final class FlushCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var count = 0

        func flush(context: ChannelHandlerContext) {
            count += 1
            context.flush()
        }
    }

    /// Two apps on a link whose flushes are counted.
    private struct Bench {
        let hub: EmbeddedHub
        let radio: EmbeddedChannel
        let map: EmbeddedChannel
        let flushes = FlushCounter()

        init() throws {
            hub = try EmbeddedHub { $0.framesPerSecond = 0 }
            radio = try hub.app(session: 1)
            map = try hub.app(session: 2)
            hub.loop.run()
            try hub.link.pipeline.syncOperations.addHandler(flushes, position: .first)
        }

        /// Whether anything has left for the head unit before the end of this turn.
        func left() throws -> Bool { try hub.link.readOutbound(as: ByteBuffer.self) != nil }
    }

    @Test("two apps that speak in one turn cost one write, in the order in which they were read")
    func together() throws {
        let bench = try Bench()
        try bench.map.says(.rpc(session: 2))
        try bench.radio.says(.rpc(session: 1))
        #expect(try !bench.left())
        bench.hub.loop.run()
        #expect(bench.flushes.count == 1)
        #expect(try bench.hub.heard() == [.rpc(session: 2), .rpc(session: 1)])
        try bench.radio.says(.rpc(session: 1))
        #expect(try bench.hub.heard() == [.rpc(session: 1)], "the next turn has a write of its own")
        #expect(bench.flushes.count == 2)
    }

    @Test("much that one app says does not wait, and takes along what was said before")
    func much() throws {
        let bench = try Bench()
        let file = Frame.data(session: 2, bytes: Switchboard.mostGatheredBytes)
        try bench.radio.says(.rpc(session: 1))
        try bench.map.says(file)
        #expect(bench.flushes.count == 1)
        #expect(try bench.left() && bench.left())
        bench.hub.loop.run()
        #expect(bench.flushes.count == 1, "nothing was left to do")
    }

    @Test("what the head unit says meanwhile does not wait for the end of the turn, either way")
    func linkRead() throws {
        let bench = try Bench()
        try bench.radio.says(.rpc(session: 1))
        try bench.hub.link.says(.rpc(session: 2, .notification))
        #expect(bench.flushes.count == 1)
        #expect(try bench.left())
        #expect(try bench.map.readOutbound(as: ByteBuffer.self) != nil)
    }

    @Test("what was said to a link that went in the same turn does not reach the next one")
    func lostLink() throws {
        let bench = try Bench()
        try bench.radio.says(.rpc(session: 1))
        bench.hub.link.close(promise: nil)
        let next = try bench.hub.nextLink()
        #expect(try next.hears() == nil)
    }

    @Test("a hub that ends in between is not kept, and nothing is flushed")
    func ended() throws {
        weak var hub: Switchboard?
        let loop: EmbeddedEventLoop
        do {
            let bench = try Bench()
            hub = bench.hub.switchboard
            loop = bench.hub.loop
            try bench.radio.says(.rpc(session: 1))
            for channel in [bench.radio, bench.map, bench.hub.link] { channel.close(promise: nil) }
        }
        loop.run()
        #expect(hub == nil)
    }
}
