import NIOCore

/// Closes a client that asks and does not read: without it, an answer that fits no buffer would
/// hold its connection for good, since an idle timeout only looks at requests.
///
/// `ControlServer` puts one into the pipeline of every connection.
final class StalledClientHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let limit: TimeAmount
    private var deadline: Scheduled<Void>?

    init(_ limit: TimeAmount) {
        self.limit = limit
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
        if !context.channel.isWritable {
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
    }
}
