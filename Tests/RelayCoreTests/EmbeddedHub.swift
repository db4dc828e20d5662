// The hub between embedded channels: no sockets, and a clock that moves when told.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

/// A switchboard whose channels and clock are the test's.
final class EmbeddedHub {
    let loop = EmbeddedEventLoop()
    let switchboard: Switchboard
    let link: EmbeddedChannel
    /// The queue that the observers would read.
    let tapQueue = TapQueue(maximumBytes: 1 << 20)
    /// What the hub logs.
    let log = LoggedLines()
    /// Counts the reads that the link was allowed to make.
    let linkReads = ReadCounter()
    /// The bytes that the link's kernel says it still holds.
    let kernel = KernelBytes()

    init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
        var configuration = RelayConfiguration()
        change(&configuration)
        switchboard = Switchboard(
            loop: loop, configuration: configuration, accessoryAddress: "test:",
            tapQueue: tapQueue,
            logger: Logger(label: "test") { [log] _ in log })
        link = EmbeddedChannel(
            handlers: [
                linkReads, kernel, FrameCutter(),
                LinkConnection(hub: switchboard, kernelBytes: { [kernel] in kernel.look() }),
            ], loop: loop)
        try connect(link)
    }

    /// Opens another link: the head unit is back.
    func nextLink() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(
            handlers: [FrameCutter(), LinkConnection(hub: switchboard)], loop: loop)
        try connect(channel)
        return channel
    }

    /// What the hub noticed since the last call.
    func notices() -> [RelayNotice] { noticed().map(\.0) }

    /// The same, each with the app it is about; nil for the head unit.
    func noticed() -> [(RelayNotice, AppID?)] {
        switchboard.tap.emit()
        return tapQueue.takeAll().compactMap {
            if case .noticed(let notice, let app, _) = $0 { (notice, app) } else { nil }
        }
    }

    /// Makes the link's socket take nothing, or everything again.
    func setBusy(_ isBusy: Bool) {
        link.isWritable = !isBusy
        if !isBusy { link.pipeline.fireChannelWritabilityChanged() }
    }

    /// The frames that the head unit has got since the last call.
    func heard() throws -> [Frame] {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        loop.run()
        while let bytes = try link.readOutbound(as: ByteBuffer.self) { decoder.append(bytes) }
        var frames: [Frame] = []
        while let frame = try decoder.next() { frames.append(frame) }
        return frames
    }

    func app() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: FrameCutter(), loop: loop)
        try switchboard.gate.accept(channel)
        try connect(channel)
        return channel
    }

    /// An app that has been granted a session.
    func app(session: UInt8) throws -> EmbeddedChannel {
        let app = try app()
        try app.says(.startService())
        #expect(try link.hears() == .startService())
        try link.says(.startServiceACK(session: session))
        #expect(try app.hears() == .startServiceACK(session: session))
        return app
    }

    private func connect(_ channel: EmbeddedChannel) throws {
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2776)).wait()
    }
}

final class KernelBytes: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    /// The bytes that the test sets.
    var count = 0
    /// Whether flushed bytes count as well, as with a real kernel, until the test has set `flushed` to 0.
    var countsFlushed = false
    var flushed = 0
    private var written = 0
    /// How often the hub has asked.
    private(set) var looks = 0

    /// Answers the hub.
    func look() -> Int {
        looks += 1
        return count + flushed
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if countsFlushed { written += unwrapOutboundIn(data).readableBytes }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        flushed += written
        written = 0
        context.flush()
    }
}

/// Counts the reads that get through to the transport.
final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}

/// Cuts what the hub writes into frames, so that `hears` has one at a time.
final class FrameCutter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(unwrapOutboundIn(data))
        while let frame = try? decoder.next() {
            context.write(wrapOutboundOut(frame.wire), promise: nil)
        }
        #expect(!decoder.isInsideFrame, "the hub writes whole frames")
    }
}

extension EmbeddedChannel {
    func says(_ frame: Frame) throws {
        try writeInbound(frame.wire)
    }

    /// The next frame written to this channel when this turn of the loop is over; nil if there is none.
    func hears() throws -> Frame? {
        embeddedEventLoop.run()
        guard let bytes = try readOutbound(as: ByteBuffer.self) else { return nil }
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(bytes)
        return try decoder.next()
    }
}
