import NIOCore
import Synchronization

/// How the pump of a USB device or gadget ended a link: written by its thread before it closes its end of the
/// socket pair, read by the channel's handler afterwards.
final class USBLinkEnd: Sendable {
    struct Report: Sendable {
        /// Builds the reason, with what was lost; nil when the hub has ended the link.
        var problem: (@Sendable (_ unsent: Int, _ undelivered: Int) -> LinkProblem)?
        /// Bytes that the pump took from the hub.
        var takenBytes: Int
        /// Bytes among them that are not known to have reached the device.
        var unsentBytes: Int
        /// Bytes from the device that the hub did not take.
        var undeliveredBytes: Int
    }

    /// Gets what becomes known about the link.
    let details: LinkDetails
    private let state = Mutex<Report?>(nil)

    init(_ details: LinkDetails) {
        self.details = details
    }

    var report: Report? { state.withLock { $0 } }

    func set(_ report: Report) {
        details.ended(lostIn: report.undeliveredBytes, lostOut: report.unsentBytes)
        state.withLock { $0 = report }
    }
}

/// First in the pipeline of a USB or gadget link's channel. Reports the pump's reason before the bare end of the
/// socket, and lets the pump send its remaining bytes before a close that we asked for.
final class USBLinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The pump drains for at most a second and cancels for at most another; this only catches a kernel that does
    /// not return.
    static let closeLimit: TimeAmount = .seconds(3)

    private let end: USBLinkEnd
    /// Bytes written to the channel, whether or not they have reached the pump.
    private var handedOverBytes = 0
    private var isClosing = false

    init(end: USBLinkEnd) {
        self.end = end
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        handedOverBytes += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    /// The pump closes its end only after it has given the reason, and the channel becomes inactive next.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if end.report == nil { context.fireErrorCaught(error) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let report = end.report {
            // Bytes on their way to the pump are lost too.
            let onTheWay = max(0, handedOverBytes - report.takenBytes)
            end.details.lost(out: onTheWay)
            if let problem = report.problem {
                context.fireErrorCaught(
                    problem(report.unsentBytes + onTheWay, report.undeliveredBytes))
            }
        }
        context.fireChannelInactive()
    }

    /// Half-closes: the pump sees the end of our bytes, drains them, releases the device and closes its end, which
    /// closes the channel. So the device is free again when the caller learns of the close.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, context.channel.isActive else {
            context.close(mode: mode, promise: promise)
            return
        }
        context.channel.closeFuture.cascade(to: promise)
        guard !isClosing else { return }
        isClosing = true
        context.close(mode: .output, promise: nil)
        let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeLimit) {
            context.close(promise: nil)
        }
        context.channel.closeFuture.whenComplete { _ in timeout.cancel() }
    }
}
