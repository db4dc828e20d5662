// Keeps the head of a request from becoming another one when it is converted. `ControlServer` puts one
// behind the HTTP decoder of every connection.

import NIOCore
import NIOHTTP1

/// Passes on requests for a path (the origin form of RFC 9112, "3.2.1") with one `Host` as they are.
///
/// - Takes the target out of all others: of "http://host/path" the handlers behind this one would only
///   see the path, and of the rest nothing sensible. `RequestTarget` answers what has no target.
/// - Makes one `Host` of several: the handlers behind this one would only see the first. Gives one that
///   is no name to a request of HTTP/1.1 without any: they do not know the version. `AccessControl`
///   answers what has such a host.
final class StrictHeadHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            context.fireChannelRead(data)
            return
        }
        if head.uri.utf8.first != UInt8(ascii: "/") { head.uri = "" }
        let hosts = head.headers["Host"]
        if hosts.count > 1 {
            // No name has a comma, which is how HTTP joins lines of one name (RFC 9110, 5.2).
            head.headers.replaceOrAdd(name: "Host", value: hosts.joined(separator: ", "))
        }
        if hosts.isEmpty, head.version != .http1_0, head.version != .http0_9 {
            head.headers.add(name: "Host", value: AccessControl.noHost)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}
