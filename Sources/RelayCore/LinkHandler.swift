// The accessory end of the hub: bytes ⇄ frames, one per opened link.

import NIOCore
import SDLProtocol

/// One live channel to the accessory. Lives on its event loop; owned by its channel.
final class LinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private unowned let switchboard: Switchboard
    private var decoder: FrameDecoder
    private var isReadHeld = false
    private var context: ChannelHandlerContext?
    private var closeReason: String?
    private let stallWatch: StallWatch
    private let kernelBytes: () -> Int

    /// - Parameter kernelBytes: Bytes written to the channel that the kernel still holds.
    init(switchboard: Switchboard, kernelBytes: @escaping () -> Int = { 0 }) {
        self.switchboard = switchboard
        self.kernelBytes = kernelBytes
        let configuration = switchboard.configuration
        decoder = FrameDecoder(
            rules: .fromAccessory(maximumPayloadBytes: configuration.maximumPayloadBytes),
            recovery: .resynchronise)
        stallWatch = StallWatch(timeout: configuration.stallTimeout)
    }

    // MARK: Life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        ReadBuffer.adopt(context.channel)
        if context.channel.isActive { switchboard.linkOpened(self) }
    }

    func channelActive(context: ChannelHandlerContext) {
        switchboard.linkOpened(self)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(reason: closeReason ?? "closed by the head unit")
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end(reason: closeReason ?? "link closed")
    }

    private func end(reason: String) {
        guard context != nil else { return }
        context = nil
        stallWatch.cancel()
        switchboard.linkClosed(self, reason: reason)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(ErrorWords.text(error, by: "head unit"))
    }

    /// Whoever else closes the link is relayd itself.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        closeReason = closeReason ?? "closed by relayd"
        context.close(mode: mode, promise: promise)
    }

    /// What the apps and the log are to hear when the link is closed next.
    func willClose(because reason: String) {
        closeReason = closeReason ?? reason
    }

    func close(_ reason: String) {
        closeReason = closeReason ?? reason
        context?.close(promise: nil)
    }

    // MARK: Link → apps

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switchboard.beginRead()
        let bytes = unwrapInboundIn(data)
        switchboard.linkReceived(bytes: bytes.readableBytes)
        decoder.append(bytes)
        pump()
    }

    private func pump() {
        // With resynchronisation nothing is thrown.
        while let frame = try? decoder.next() {
            switchboard.receiveFromAccessory(frame)
        }
        if let report = decoder.takeGarbageReport() { switchboard.garbage(report) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switchboard.endRead()
        stallWatch.check(self, on: context.eventLoop)
    }

    func read(context: ChannelHandlerContext) {
        if switchboard.isLinkHeld { isReadHeld = true } else { context.read() }
    }

    func resumeReading() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    /// Sessions whose frames may be expected, for resynchronisation.
    func expect(sessions: SessionSet) {
        decoder.knownSessions = sessions
    }

    func allowPayload(bytes: Int) {
        decoder.rules.maximumPayloadBytes = max(decoder.rules.maximumPayloadBytes, bytes)
    }

    var garbageBytes: UInt64 { decoder.garbageBytes }

    // MARK: Apps → link

    /// Water marks that make `isWritable` say whether the kernel has taken what was flushed. What
    /// it has not taken waits in the channel, and nothing should wait there that can still be put in
    /// order. The rest of a frame may be below the upper mark and is worth no event.
    static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 512)

    /// After a flush: the kernel has taken all of it.
    var isWritable: Bool { context?.channel.isWritable ?? false }

    /// Bytes the kernel has taken and not sent, as far as it can tell. Costs a system call.
    var bytesInKernel: Int { context == nil ? 0 : kernelBytes() }

    /// Bytes the kernel has not taken yet.
    var bytesInChannel: Int {
        guard let options = context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }

    @inline(__always)
    func write(_ frame: Frame) {
        context?.write(wrapOutboundOut(frame.wire), promise: nil)
    }

    func flush() {
        context?.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { switchboard.linkDrained() }
        context.fireChannelWritabilityChanged()
    }
}

extension LinkHandler: FrameReceiver {
    var unfinishedFrame: StallWatch.Position? { decoder.unfinished }

    func stalled(_ position: StallWatch.Position) {
        switchboard.stalled(position, app: nil)
        decoder.abandonPartialFrame()
        switchboard.beginRead()
        pump()
        switchboard.endRead()
    }
}
