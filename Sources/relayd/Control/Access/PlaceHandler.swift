import NIOCore

/// Keeps a client's place as long as its connection lasts, and closes both halves of the connection in
/// one step, so that no half is ever open without a place. Sits next to the socket.
///
/// Here, closing the sending half means that nothing more will be sent: once everything has been written,
/// the whole connection is closed. So a client that has read the end of its answer finds its place free
/// when it connects again, and a client that does not hang up keeps nothing open here.
final class PlaceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var place: ControlShares.Place?
    private var isEnding = false
    /// Closes the connection of a client that leaves the end of its answer unread.
    private var deadline: Scheduled<Void>?
    /// Bytes received.
    private(set) var received = 0
    /// Whether they end with an empty line, as a request without a body does.
    private(set) var isAtEmptyLine = false
    /// Bytes written to the channel, which may still hold some of them.
    private(set) var written = 0

    init(_ place: ControlShares.Place) {
        self.place = place
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data).readableBytesView
        received += bytes.count
        isAtEmptyLine = bytes.suffix(4).elementsEqual("\r\n\r\n".utf8)
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .input:
            context.close(mode: .input, promise: promise)
        case .all:
            // Before the client can notice the close.
            place = nil
            context.close(mode: .all, promise: promise)
        case .output:
            context.channel.closeFuture.cascade(to: promise)
            end(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        place = nil
        deadline?.cancel()
        context.fireChannelInactive()
    }

    /// Closes the connection once everything has been written. (NIO's own half-close does not wait for
    /// that when the client has closed its sending half.)
    private func end(_ context: ChannelHandlerContext) {
        guard !isEnding else { return }
        isEnding = true
        let everything = context.eventLoop.makePromise(of: Void.self)
        everything.futureResult.assumeIsolated().whenComplete { _ in
            self.close(context: context, mode: .all, promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: everything)
        guard context.channel.isActive else { return }
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: ControlLimits.stall) {
            self.close(context: context, mode: .all, promise: nil)
        }
    }
}
