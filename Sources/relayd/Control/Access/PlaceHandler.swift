import NIOCore

/// Keeps a client's place as long as its connection lasts, and ends that in one step, so that it
/// never has one open half without a place. Stands next to the socket.
///
/// To close the sending half means here that nothing more is going to be sent: once everything has been
/// written, the whole connection is closed. A client therefore reads the end of its answer when its place
/// is free, and finds it free when it connects again. One that does not hang up has nothing open here.
final class PlaceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var place: ControlShares.Place?
    private var isEnding = false
    /// When a client that leaves the end of its answer unread is closed all the same.
    private var deadline: Scheduled<Void>?
    /// Bytes that came.
    private(set) var received = 0
    /// Whether the last of them are an empty line, with which a request without a body ends.
    private(set) var isAtEmptyLine = false
    /// Bytes that were given to the channel; it may still hold some of them.
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
            // Before the client can know of it.
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

    /// Closes the connection behind what is still to be written. (NIO's own half closing does not wait
    /// for that when the client has closed its sending half.)
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
