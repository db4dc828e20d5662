// Keeps a client's place as long as its connection lasts. `ControlClients` puts one first into the pipeline.

import NIOCore

/// Gives a place back before the client can know that its connection is closed, so that the next
/// connection of the same client finds it free.
final class PlaceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var place: ControlShares.Place?

    init(_ place: ControlShares.Place) {
        self.place = place
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        // A server that has no more to say closes its half first, and the other at once afterwards.
        if case .input = mode {} else { place = nil }
        context.close(mode: mode, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        place = nil
        context.fireChannelInactive()
    }
}
