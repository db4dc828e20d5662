// What sdl_core still says on a session that it has ended, and what garbage does to the next app.

import Foundation
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("The next app's StartServiceACK is not held back")
struct DeadSessionTests {
    private struct Recording: Decodable {
        struct Chunk: Decodable {
            var t: Double
            var dir: String
            var off: Int
            var len: Int
        }
        var chunks: [Chunk]
    }

    @Test("a recorded answer with message ID 0 after EndServiceACK: the next app starts at once")
    func recorded() throws {
        let folder = Checkout.captures
        let name = "java-zero-message-id-1"
        let index = try JSONDecoder().decode(
            Recording.self, from: Data(contentsOf: folder.appending(path: "\(name).json")))
        let down = try Data(contentsOf: folder.appending(path: "\(name).down.bin"))
        let up = try Data(contentsOf: folder.appending(path: "\(name).up.bin"))

        let hub = try EmbeddedHub()
        let first = try hub.app()
        var second: EmbeddedChannel?
        var granted: [Frame] = []
        var elapsed = 0.0
        for chunk in index.chunks.prefix(while: { $0.t < 7 }) {
            hub.loop.advanceTime(by: .nanoseconds(Int64((chunk.t - elapsed) * 1e9)))
            elapsed = chunk.t
            guard chunk.dir == "up" else {
                try hub.link.writeInbound(
                    ByteBuffer(bytes: down[chunk.off..<chunk.off + chunk.len]))
                // At once: time stands still until the next chunk.
                if let second { while let frame = try second.hears() { granted.append(frame) } }
                continue
            }
            let bytes = ByteBuffer(bytes: up[chunk.off..<chunk.off + chunk.len])
            if chunk.off < 300_000 {
                try first.writeInbound(bytes)
            } else if chunk.len == 29 {
                // The end of its session is the farewell: the app is gone.
                if first.isActive { try first.close().wait() }
            } else if chunk.len == 40 {
                second = try hub.app()
                try second?.writeInbound(bytes)
            }
        }
        let answer = try #require(granted.first)
        #expect(granted.count == 1)
        #expect(answer.controlType == .startServiceACK && answer.sessionID != 0)
        #expect(hub.switchboard.sdl.garbageBytes == 0)
        let notices = hub.notices()
        #expect(notices.isEmpty)
    }

    @Test(
        "garbage, then the lone answer to the only StartService",
        arguments: [
            [0x00], [0xFF], Array(#"{"name":"vehicle_speed","value":7.5}"#.utf8) + [0],
        ] as [[UInt8]])
    func loneAnswer(garbage: [UInt8]) throws {
        let hub = try EmbeddedHub()
        let app = try hub.app()
        try app.says(.startService())
        try hub.link.writeInbound(ByteBuffer(bytes: garbage))
        try hub.link.says(.startServiceACK(session: 1))
        #expect(try app.hears() == .startServiceACK(session: 1))
        #expect(hub.switchboard.sdl.garbageBytes == UInt64(garbage.count))
    }

    @Test("garbage, then the refusal") func loneRefusal() throws {
        let hub = try EmbeddedHub()
        let app = try hub.app()
        try app.says(.startService(headerVersion: 5))
        try hub.link.writeInbound(ByteBuffer(bytes: [0xFF]))
        let refusal = Frame.control(.startServiceNAK, session: 7)
        try hub.link.says(refusal)
        #expect(try app.hears() == refusal)
    }

    @Test("a whole frame behind garbage that nothing proves waits for a short silence, no longer")
    func silence() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        var read = ByteBuffer(bytes: [0xFF])
        read.writeImmutableBuffer(Frame.rpc(session: 9, .notification).wire)
        try hub.link.writeInbound(read)
        hub.loop.advanceTime(by: SDLLink.silence - .nanoseconds(1))
        #expect(hub.switchboard.link.counters.framesIn == 1)
        hub.loop.advanceTime(by: .nanoseconds(1))
        #expect(hub.switchboard.link.counters.framesIn == 2)
        #expect(hub.switchboard.sdl.garbageBytes == 1)
        let notices = hub.notices()
        #expect(notices.count == 1, "the garbage")
    }

    @Test("bytes that go on coming are not silence")
    func notSilent() throws {
        let hub = try EmbeddedHub()
        _ = try hub.app(session: 1)
        try hub.link.writeInbound(ByteBuffer(bytes: [0xFF]))
        try hub.link.says(.rpc(session: 9, .notification))
        let next = Frame.rpc(session: 9, .notification).wire
        for byte in next.readableBytesView.prefix(11) {
            hub.loop.advanceTime(by: SDLLink.silence - .milliseconds(1))
            #expect(hub.switchboard.link.counters.framesIn == 1)
            try hub.link.writeInbound(ByteBuffer(bytes: [byte]))
        }
        hub.loop.advanceTime(by: 2 * SDLLink.silence)
        #expect(hub.switchboard.link.counters.framesIn == 2)
    }

    @Test("a little garbage and then silence is told as garbage, not as half a frame")
    func silentGarbage() throws {
        let hub = try EmbeddedHub()
        try hub.link.writeInbound(ByteBuffer(bytes: [0xFF, 0xFF, 0x51, 0x07]))
        hub.loop.advanceTime(by: .seconds(60))
        let notices = hub.notices()
        guard notices.count == 1, case .garbage(let garbage) = notices.first else {
            Issue.record("told: \(notices)")
            return
        }
        #expect(garbage.excerpt.hasPrefix("FF FF"))
    }
}
