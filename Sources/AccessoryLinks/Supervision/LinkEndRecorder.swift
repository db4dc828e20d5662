import NIOCore
import Synchronization

/// Remembers why a link ended: an error that the channel reported, our own close, or (neither) the
/// peer. `LinkSupervisor` puts its two handlers around the hub's and asks it after the close.
///
/// There are two so that written bytes pass neither: errors come from the channel's end of the pipeline, and closes
/// from the other.
final class LinkEndRecorder: Sendable {
    enum End: Sendable {
        case peer
        case ourselves
        case failed(any Error)
    }

    private let end = Mutex<End>(.peer)

    var recorded: End { end.withLock { $0 } }

    /// Adds the handlers to an empty place in the pipeline, with those that `configure` adds in between.
    func configure(
        _ channel: any Channel, around configure: @escaping ChannelSetup
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Errors(recorder: self))
        }.flatMap {
            configure(channel)
        }.flatMapThrowing {
            try channel.pipeline.syncOperations.addHandler(Closes(recorder: self))
        }
    }

    /// The first reason counts.
    private func record(_ reason: End) {
        end.withLock { end in
            if case .peer = end { end = reason }
        }
    }

    /// Sits before the hub's handlers, which do not pass errors on.
    private final class Errors: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let recorder: LinkEndRecorder

        init(recorder: LinkEndRecorder) {
            self.recorder = recorder
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            recorder.record(.failed(error))
            context.fireErrorCaught(error)
        }
    }

    /// Sits behind the hub's handlers: sees every close of the channel, and nothing that they write.
    private final class Closes: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private let recorder: LinkEndRecorder

        init(recorder: LinkEndRecorder) {
            self.recorder = recorder
        }

        func close(
            context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
        ) {
            recorder.record(.ourselves)
            context.close(mode: mode, promise: promise)
        }
    }
}
