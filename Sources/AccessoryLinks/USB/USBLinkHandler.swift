import NIOCore
import Synchronization

/// Why the pump ended a link: written by its thread before it closes its end of the socket pair,
/// read by the channel's handler after that.
final class USBLinkEnd: Sendable {
    private let problem = Mutex<LinkProblem?>(nil)

    var reason: LinkProblem? { problem.withLock { $0 } }

    func set(_ reason: LinkProblem) { problem.withLock { $0 = reason } }
}

/// First in the pipeline of a USB link's channel. Puts the pump's reason in front of the bare end
/// of the socket, and lets the pump send what it still has before a close that we asked for.
final class USBLinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The pump drains for at most a second and cancels for at most another; this only catches a
    /// kernel that does not come back.
    static let closeLimit: TimeAmount = .seconds(3)

    private let end: USBLinkEnd
    private var hasTold = false
    private var isClosing = false

    init(end: USBLinkEnd) {
        self.end = end
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let reason = end.reason else { return context.fireErrorCaught(error) }
        tell(reason, context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let reason = end.reason { tell(reason, context) }
        context.fireChannelInactive()
    }

    private func tell(_ reason: LinkProblem, _ context: ChannelHandlerContext) {
        guard !hasTold else { return }
        hasTold = true
        context.fireErrorCaught(reason)
    }

    /// Half-closes: the pump sees the end of what we sent, drains it, lets the device go and
    /// closes its end, which closes the channel. So the device is free again when the caller hears
    /// of the close.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, context.channel.isActive else {
            context.close(mode: mode, promise: promise)
            return
        }
        context.channel.closeFuture.cascade(to: promise)
        guard !isClosing else { return }
        isClosing = true
        context.close(mode: .output, promise: nil)
        let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeLimit) {
            context.close(promise: nil)
        }
        context.channel.closeFuture.whenComplete { _ in timeout.cancel() }
    }
}
