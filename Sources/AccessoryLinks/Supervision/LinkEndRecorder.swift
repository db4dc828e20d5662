import NIOCore
import Synchronization

/// Remembers why a link ended: an error that the channel reported, our own close, or (neither) the
/// peer. `LinkSupervisor` puts one first into each link's pipeline and asks it after the close.
final class LinkEndRecorder: ChannelDuplexHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum End: Sendable {
        case peer
        case ourselves
        case failed(any Error)
    }

    private let end = Mutex<End>(.peer)

    var recorded: End { end.withLock { $0 } }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end.withLock { end in
            if case .peer = end { end = .failed(error) }
        }
        context.fireErrorCaught(error)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        end.withLock { end in
            if case .peer = end { end = .ourselves }
        }
        context.close(mode: mode, promise: promise)
    }
}
