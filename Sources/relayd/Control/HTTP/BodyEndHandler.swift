import NIOCore
import NIOHTTP1

/// Events that `RequestBody` sends to the handlers of its connection.
enum BodyEvent {
    /// The body arrives at its own pace: its time is not bounded.
    case takesItsTime
    /// The rest of the body is not wanted: it ends here for its reader.
    case isCutOff
}

/// Ends a body for its reader before it is complete, when the rest is not wanted. The rest is discarded.
final class BodyEndHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var isInBody = false
    private var isCutOff = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            isInBody = true
            isCutOff = false
        case .body where isCutOff: return
        case .body: break
        case .end:
            isInBody = false
            if isCutOff { return }
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case BodyEvent.isCutOff = event, isInBody, !isCutOff else { return }
        isCutOff = true
        context.fireChannelRead(wrapInboundOut(.end(nil)))
        context.fireChannelReadComplete()
    }
}
