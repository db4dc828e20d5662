// Keeps request targets that are no path from being made into one. `ControlServer` puts one behind
// the HTTP decoder of every connection.

import NIOCore
import NIOHTTP1

/// Passes on requests for a path (the origin form of RFC 9112, "3.2.1") as they are, and takes the
/// target out of all others: of "http://host/path" the handlers behind this one would only see the
/// path, and of the rest nothing sensible. `RequestTarget` answers what has no target.
final class OriginFormHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data),
            head.uri.utf8.first != UInt8(ascii: "/")
        else {
            context.fireChannelRead(data)
            return
        }
        head.uri = ""
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
