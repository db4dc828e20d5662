import Glibc
import NIOCore

/// First handler of a tty link. Delays a close that relayd asks for until the driver has sent its bytes, so that
/// the farewell to the head unit is not cut off, and until the device is free. Reports the reason for a hang-up
/// before the bare end of the channel. Reads on where the channel reads once.
final class TTYLinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// 250 ms carry about 2,800 bytes at 115,200 baud: more than any farewell. A longer wait would only help a peer
    /// that holds CTS, and shutting down must not wait for such a peer.
    static let drainLimit: TimeAmount = .milliseconds(250)

    /// How often the driver's queue is checked meanwhile.
    static let drainInterval: TimeAmount = .milliseconds(10)

    /// The most bytes of one read: as many as the driver may have (its flip buffers hold 64 KiB), and few compared
    /// with what a socket brings.
    static let readLimit = 64 << 10

    let tty: TTY
    /// The buffer of the last read that went on. Its storage is reused once nothing else refers to it.
    private var storage = ByteBuffer()
    private let hangUp: LinkProblem
    private let limit: TimeAmount
    /// The end has a reason: our own close, or one that has been reported.
    private var isExplained = false

    init(tty: TTY, hangUp: LinkProblem, limit: TimeAmount = drainLimit) {
        self.tty = tty
        self.hangUp = hangUp
        self.limit = limit
    }

    // MARK: Reading

    /// The kernel hands over a tty's bytes 4 KB at a time, and the channel reads only once: each 4 KB would cost a
    /// turn of the loop, and nearly every larger frame a copy.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(wrapInboundOut(readOn(after: unwrapInboundIn(data))))
    }

    /// The bytes that were read, followed by what else the driver has.
    private func readOn(after first: ByteBuffer) -> ByteBuffer {
        let count = first.readableBytes
        guard count < Self.readLimit else { return first }
        storage.clear(minimumCapacity: Self.readLimit)
        // Usually there is nothing more, and then nothing has to be copied.
        storage.moveWriterIndex(to: count)
        guard tty.readMore(into: &storage, upTo: Self.readLimit) > 0 else { return first }
        storage.setBuffer(first, at: 0)
        while storage.writerIndex < Self.readLimit,
            tty.readMore(into: &storage, upTo: Self.readLimit) > 0
        {}
        return storage
    }

    // MARK: The tty hangs up

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let failure = error as? IOError, Self.isHangUp(failure.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        tellHangUp(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        tellHangUp(context)
        context.fireChannelInactive()
    }

    private func tellHangUp(_ context: ChannelHandlerContext) {
        guard !isExplained else { return }
        isExplained = true
        context.fireErrorCaught(hangUp)
    }

    /// How reading and writing fail on a tty that has hung up, or whose device is gone.
    private static func isHangUp(_ error: CInt) -> Bool {
        error == EIO || error == ENODEV || error == ENXIO
    }

    // MARK: relayd closes

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            context.close(mode: mode, promise: promise)
            return
        }
        isExplained = true
        let deadline = context.eventLoop.now + limit
        closeWhenDrained(context: context, deadline: deadline, promise: promise)
    }

    private func closeWhenDrained(
        context: ChannelHandlerContext, deadline: NIODeadline, promise: EventLoopPromise<Void>?
    ) {
        guard context.channel.isActive, tty.queuedBytes > 0, context.eventLoop.now < deadline
        else {
            // The device is free again when the caller is notified, not a moment later.
            let closed = context.eventLoop.makePromise(of: Void.self)
            closed.futureResult.hop(to: context.eventLoop).flatMap { [tty] in tty.end() }
                .cascade(to: promise)
            context.close(promise: closed)
            return
        }
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.drainInterval) {
            self.closeWhenDrained(context: context, deadline: deadline, promise: promise)
        }
    }
}
