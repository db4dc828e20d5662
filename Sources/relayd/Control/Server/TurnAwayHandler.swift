import ControlAPI
import NIOCore

/// Turns away a client for which there is no connection left: writes one answer, whatever the
/// request, and closes the connection.
final class TurnAwayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Time the client has to take the answer: if the connection were closed at once, a client that
    /// is still writing its request would lose it.
    ///
    /// Not an option: some hundred bytes reach a client on this machine or in its network within
    /// milliseconds, and a client that is turned away must not hold a place for longer.
    private static let patience = TimeAmount.milliseconds(500)

    private let limit: ControlOverflow.Limit
    /// Given back when the connection closes and this handler is released.
    private let place: ControlShares.Place?
    private var isDone = false

    /// - Parameters:
    ///   - limit: the limit that was reached, for the answer.
    ///   - place: kept until the client has the answer; without one the connection is closed at
    ///     once.
    init(_ limit: ControlOverflow.Limit, _ place: ControlShares.Place?) {
        self.limit = limit
        self.place = place
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { turnAway(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        turnAway(context)
        context.fireChannelActive()
    }

    /// Ignores the request.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The client has read the answer and left.
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func turnAway(_ context: ChannelHandlerContext) {
        guard !isDone else { return }
        isDone = true
        guard place != nil else {
            context.close(promise: nil)
            return
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
        context.close(mode: .output, promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
            context.close(promise: nil)
        }
    }

    private var answer: [UInt8] {
        let error = APIError(.tooMany, limit.refusal)
        let body = (try? APICoding.encode(error)) ?? []
        let head = """
            HTTP/1.1 429 Too Many Requests\r
            Content-Type: application/json; charset=utf-8\r
            Content-Length: \(body.count)\r
            Retry-After: 1\r
            Server: relayd/\(Version.current)\r
            Connection: close\r
            \r

            """
        return Array(head.utf8) + body
    }
}
