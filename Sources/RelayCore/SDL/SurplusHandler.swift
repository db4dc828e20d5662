import NIOCore
import SDLProtocol

/// Handles a surplus connection: answers the first StartService with StartServiceNAK and closes.
/// Lives on the link's event loop.
///
/// The connection is closed after `patience` in any case, and at most a few KiB of it are read.
final class SurplusHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How long an app may take to send StartService and hang up; libraries do both at once.
    static let patience: TimeAmount = .seconds(5)
    /// Bytes after which no StartService is expected any more; one takes less than 200.
    private static let maximumBytes = 4096

    private let reason: String
    private var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
    private var bytes = 0
    private var hasAnswered = false
    private let lingering = LingeringClose()
    private var timer: Scheduled<Void>?

    init(reason: String) {
        self.reason = reason
    }

    func channelActive(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        let data = unwrapInboundIn(data)
        bytes += data.readableBytes
        decoder.append(data)
        do {
            while let frame = try decoder.next() {
                if frame.controlType == .startService { return answer(frame, context) }
            }
        } catch {
            return context.close(promise: nil)
        }
        if bytes > Self.maximumBytes { context.close(promise: nil) }
    }

    private func answer(_ frame: Frame, _ context: ChannelHandlerContext) {
        hasAnswered = true
        let nak = Frame.startServiceNAK(of: frame, reason: reason)
        context.writeAndFlush(wrapOutboundOut(nak.wire), promise: nil)
        lingering.begin(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        lingering.cancel()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
