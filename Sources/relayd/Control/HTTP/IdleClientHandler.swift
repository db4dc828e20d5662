package import NIOCore
package import NIOHTTP1

/// Closes a connection on which no request arrives: a client has a limited time for a complete
/// request, counted from the connection or from the end of the previous answer.
///
/// The time does not run while an answer is being made or written: that delay is not the client's
/// fault, and `StalledClientHandler` handles clients that do not read.
package final class IdleClientHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private let limit: TimeAmount
    private var lastSign = NIODeadline.distantPast
    private var timer: Scheduled<Void>?
    /// Requests that have begun to arrive and are not fully answered.
    private var unanswered = 0
    private var isRequestComing = false
    /// The body of the current request may take any time.
    private var isPatient = false

    package init(_ limit: TimeAmount) {
        self.limit = limit
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastSign = context.eventLoop.now
        switch unwrapInboundIn(data) {
        case .head:
            isRequestComing = true
            isPatient = false
            unanswered += 1
        case .body: break
        case .end: isRequestComing = false
        }
        context.fireChannelRead(data)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case BodyEvent.takesItsTime = event { isPatient = true }
        context.fireUserInboundEventTriggered(event)
    }

    package func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        if case .end = unwrapOutboundIn(data) {
            unanswered = max(0, unanswered - 1)
            if unanswered == 0 { start(context) }
        }
        context.write(data, promise: promise)
    }

    private func start(_ context: ChannelHandlerContext) {
        lastSign = context.eventLoop.now
        if timer == nil { look(context) }
    }

    private func look(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: lastSign + limit) {
            self.timer = nil
            guard context.channel.isActive else { return }
            // It is relayd's turn.
            guard self.unanswered == 0 || self.isRequestComing && !self.isPatient else { return }
            if context.eventLoop.now >= self.lastSign + self.limit {
                context.close(promise: nil)
            } else {
                self.look(context)
            }
        }
    }
}
