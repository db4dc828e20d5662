import NIOCore
import NIOHTTP1

/// What `RequestBody` tells the handlers of its connection.
enum BodyEvent {
    /// The body comes at its own pace: how long it takes is not bounded.
    case takesItsTime
    /// Nobody reads the rest of it: it ends here for whoever does.
    case isCutOff
}

/// Ends a body for its reader before it is whole, when there is no use for the rest. What still comes is thrown
/// away.
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
