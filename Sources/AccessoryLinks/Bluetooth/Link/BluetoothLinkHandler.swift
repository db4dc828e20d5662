import NIOCore

/// First handler of a Bluetooth link: reports the loss of the peer before the bare end of the channel.
///
/// Bytes in the kernel are not counted: an RFCOMM socket answers SIOCOUTQ with the room that is left
/// (net/bluetooth/af_bluetooth.c, bt_sock_ioctl), not with the bytes that wait.
final class BluetoothLinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let device: String
    /// The end has a reason: our own close, or one that has been reported.
    private var isExplained = false

    init(device: String) { self.device = device }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        tell(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        tell(context)
        context.fireChannelInactive()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .all { isExplained = true }
        context.close(mode: mode, promise: promise)
    }

    private func tell(_ context: ChannelHandlerContext) {
        guard !isExplained else { return }
        isExplained = true
        context.fireErrorCaught(
            LinkProblem(
                .closedByPeer, "\(device) has disconnected from Bluetooth, or is out of range"))
    }
}
