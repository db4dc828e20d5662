// One end of an SDL stream over real TCP: what fake apps and fake head units have in common.

import Glibc
package import NIOCore
import NIOPosix
package import SDLProtocol

/// Speaks frames over a TCP connection and waits for what comes back, never longer than a deadline.
package final class FramePeer: Sendable {
    /// Why a wait for a frame ended without one.
    package enum Failure: Error, Equatable {
        case nothingCame
        case closed
    }

    /// Longer than any machine needs, even one with ten times the work it can handle, and short
    /// enough to end a hanging test.
    package static let patience: TimeAmount = .minutes(10)

    package let channel: any Channel
    private let mailbox: NIOLoopBound<Mailbox>

    private init(channel: any Channel, mailbox: NIOLoopBound<Mailbox>) {
        self.channel = channel
        self.mailbox = mailbox
    }

    /// Connects as an app does.
    ///
    /// - Parameter receiveBuffer: Bytes the kernel keeps while the peer does not read; any more stay
    ///   with the sender. By default a lot, or next to nothing for a peer that does not read by
    ///   itself.
    package static func connect(
        host: String = "127.0.0.1", port: Int, readsByItself: Bool = true,
        receiveBuffer: Int? = nil
    ) async throws -> FramePeer {
        let receiveBuffer = receiveBuffer ?? (readsByItself ? 1 << 20 : 4096)
        // Set before connecting: afterwards the window would be open already.
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBuffer))
            .channelOption(.autoRead, value: readsByItself)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try wrap(channel) }
            }
    }

    static func wrap(_ channel: any Channel) throws -> FramePeer {
        let mailbox = Mailbox(loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(mailbox)
        return FramePeer(
            channel: channel, mailbox: NIOLoopBound(mailbox, eventLoop: channel.eventLoop))
    }

    package func send(_ frames: Frame...) async throws {
        for frame in frames { try await send(bytes: frame.wire) }
    }

    package func send(bytes: ByteBuffer) async throws {
        try await channel.writeAndFlush(bytes)
    }

    /// The next whole frame.
    package func next() async throws -> Frame {
        try await channel.eventLoop.flatSubmit {
            self.mailbox.value.next()
        }.get()
    }

    /// The next `count` bytes, frames or not.
    package func next(bytes count: Int) async throws -> ByteBuffer {
        try await channel.eventLoop.flatSubmit {
            self.mailbox.value.next(bytes: count)
        }.get()
    }

    /// The number of bytes received so far, for a test that reads by hand and ignores their contents.
    package func receivedBytes() async throws -> Int {
        try await channel.eventLoop.submit { self.mailbox.value.receivedBytes }.get()
    }

    /// Returns when the other side has closed.
    package func closed() async throws {
        try await channel.eventLoop.flatSubmit {
            self.mailbox.value.closed()
        }.get()
    }

    package func close() async {
        try? await channel.close()
    }

    /// Ends the connection with RST, as a killed process or a pulled cable may.
    package func reset() async throws {
        let options = channel as? any SocketOptionProvider
        try await options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        await close()
    }
}

/// Collects bytes on the loop and hands them to the waiting call.
private final class Mailbox: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let loop: any EventLoop
    private var received = ByteBuffer()
    private(set) var receivedBytes = 0
    private var isClosed = false
    private var waiter: (() -> Bool)?
    private var closeWaiters: [EventLoopPromise<Void>] = []

    init(loop: any EventLoop) {
        self.loop = loop
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        receivedBytes += bytes.readableBytes
        received.writeImmutableBuffer(bytes)
        serve()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        serve()
        for waiter in closeWaiters { waiter.succeed() }
        closeWaiters = []
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func serve() {
        guard let waiter, waiter() else { return }
        self.waiter = nil
    }

    func next() -> EventLoopFuture<Frame> {
        wait { self.takeFrame() }
    }

    func next(bytes count: Int) -> EventLoopFuture<ByteBuffer> {
        wait {
            guard self.received.readableBytes >= count else { return nil }
            let bytes = ByteBuffer(bytes: self.received.readableBytesView.prefix(count))
            self.received.moveReaderIndex(forwardBy: count)
            self.tidy()
            return bytes
        }
    }

    func closed() -> EventLoopFuture<Void> {
        let promise = loop.makePromise(of: Void.self)
        guard !isClosed else {
            promise.succeed()
            return promise.futureResult
        }
        closeWaiters.append(promise)
        loop.scheduleTask(in: FramePeer.patience) { promise.fail(FramePeer.Failure.nothingCame) }
        return promise.futureResult
    }

    private func takeFrame() -> Frame? {
        var decoder = Self.decoder
        decoder.append(received)
        guard let length = try? decoder.next()?.wire.readableBytes else { return nil }
        // A copy, so that the frame does not share storage that goes on growing.
        var copy = Self.decoder
        copy.append(ByteBuffer(bytes: received.readableBytesView.prefix(length)))
        received.moveReaderIndex(forwardBy: length)
        tidy()
        return try? copy.next()
    }

    private static let decoder = FrameDecoder(
        rules: .fromAccessory(maximumPayloadBytes: 4 << 20), recovery: .fail)

    private func tidy() {
        if received.readerIndex > received.writerIndex / 2 { received.discardReadBytes() }
    }

    private func wait<Value: Sendable>(
        for take: @escaping () -> Value?
    ) -> EventLoopFuture<Value> {
        let promise = loop.makePromise(of: Value.self)
        let timeout = loop.scheduleTask(in: FramePeer.patience) {
            promise.fail(FramePeer.Failure.nothingCame)
        }
        let attempt = {
            if let value = take() {
                promise.succeed(value)
            } else if self.isClosed {
                promise.fail(FramePeer.Failure.closed)
            } else {
                return false
            }
            timeout.cancel()
            return true
        }
        if !attempt() { waiter = attempt }
        return promise.futureResult
    }
}
