// Frames on their way out, as values and through the hub.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("Frames that came behind each other leave in one write")
struct WriteRunTests {
    private static func frames(in bytes: ByteBuffer) throws -> [Frame] {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(bytes)
        var frames: [Frame] = []
        while let frame = try decoder.next() { frames.append(frame) }
        return frames
    }

    private static func bytes(of frames: [Frame]) -> ByteBuffer {
        var bytes = ByteBuffer()
        for frame in frames { bytes.writeImmutableBuffer(frame.wire) }
        return bytes
    }

    private let sent = (UInt32(1)...4).map { Frame.data(session: 1, message: $0, bytes: 20) }

    @Test("of one read") func whole() throws {
        var run = WriteRun()
        let bytes = Self.bytes(of: sent)
        for frame in try Self.frames(in: bytes) { #expect(run.add(frame.wire) == nil) }
        #expect(run.count == bytes.readableBytes)
        #expect(run.take() == bytes)
        #expect(run.take() == nil && run.count == 0)
    }

    @Test("but not what was between them") func gap() throws {
        var run = WriteRun()
        let frames = try Self.frames(in: Self.bytes(of: sent))
        #expect(run.add(frames[0].wire) == nil)
        #expect(run.add(frames[2].wire) == frames[0].wire)
        #expect(run.add(frames[3].wire) == nil)
        #expect(run.take() == Self.bytes(of: [sent[2], sent[3]]))
    }

    @Test("and not in another order") func backwards() throws {
        var run = WriteRun()
        let frames = try Self.frames(in: Self.bytes(of: sent))
        #expect(run.add(frames[1].wire) == nil)
        #expect(run.add(frames[0].wire) == frames[1].wire)
        #expect(run.take() == frames[0].wire)
    }

    @Test("and nothing of another read, wherever it is in memory") func twoReads() throws {
        var run = WriteRun()
        let first = try Self.frames(in: Self.bytes(of: [sent[0]]))[0]
        let second = try Self.frames(in: Self.bytes(of: [sent[0], sent[1]]))[1]
        #expect(run.add(first.wire) == nil)
        #expect(run.add(second.wire) == first.wire)
        #expect(run.take() == second.wire)
    }

    @Test("and nothing beyond a slice") func slice() throws {
        var run = WriteRun()
        let bytes = Self.bytes(of: sent)
        let size = sent[0].wire.readableBytes
        let slice = try #require(bytes.getSlice(at: 0, length: size))
        #expect(run.add(slice) == nil)
        let next = try Self.frames(in: bytes)[1]
        #expect(run.add(next.wire) == slice)
        #expect(run.take() == next.wire)
    }

    @Test("from an app to the link, and from the link to each app") func hub() throws {
        let hub = try EmbeddedHub()
        let left = try hub.app(session: 1)
        let right = try hub.app(session: 2)
        let linkWrites = try WriteCounter.added(to: hub.link)
        let leftWrites = try WriteCounter.added(to: left)

        try left.writeInbound(Self.bytes(of: sent))
        hub.loop.run()
        #expect(linkWrites.writes == [Self.bytes(of: sent)])

        let other = Frame.data(session: 2, message: 9, bytes: 20)
        try hub.link.writeInbound(Self.bytes(of: [sent[0], sent[1], other, sent[2], sent[3]]))
        #expect(
            leftWrites.writes == [
                Self.bytes(of: [sent[0], sent[1]]), Self.bytes(of: [sent[2], sent[3]]),
            ])
        #expect(try right.hears() == other)
    }
}

/// Keeps what is written.
private final class WriteCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var writes: [ByteBuffer] = []

    /// Adds a counter that sees the hub's writes before they are cut for the test.
    static func added(to channel: EmbeddedChannel) throws -> WriteCounter {
        let counter = WriteCounter()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
            counter, position: .after(pipeline.handler(type: FrameCutter.self)))
        return counter
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writes.append(unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }
}
