// The accessory end of the hub: bytes ⇄ frames, one per opened link.

import NIOCore
import SDLProtocol

/// One live channel to the accessory. Lives on its event loop; owned by its channel.
final class LinkHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Lives as long as its link: it lets go of this one when that ends.
    private let switchboard: Switchboard
    private var decoder: FrameDecoder
    private var isReadHeld = false
    /// Frames of the hub that have not been written yet.
    private var run = FrameRun()
    private var context: ChannelHandlerContext?
    private var closeReason: String?
    private let stallWatch: StallWatch<LinkHandler>
    private let silenceWatch: StallWatch<LinkHandler>
    private let kernelBytes: () -> Int

    /// - Parameter kernelBytes: Bytes written to the channel that the kernel still holds.
    init(switchboard: Switchboard, kernelBytes: @escaping () -> Int = { 0 }) {
        self.switchboard = switchboard
        self.kernelBytes = kernelBytes
        let configuration = switchboard.configuration
        decoder = FrameDecoder(
            rules: .fromAccessory(maximumPayloadBytes: configuration.maximumPayloadBytes),
            recovery: .resynchronise)
        stallWatch = StallWatch(timeout: configuration.stallTimeout) {
            $0.decoder.unfinished
        } stalled: {
            $0.stalled($1)
        }
        silenceWatch = StallWatch(timeout: Self.silence) {
            $0.decoder.unsettled
        } stalled: { handler, _ in
            handler.settle()
        }
    }

    /// When nothing has come for so long, nothing will prove the last frame behind garbage: what a
    /// head unit sends in one go is here by then, also over a serial line.
    static let silence: TimeAmount = .milliseconds(100)

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
        stopWatching()
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
        decoder.expected.awaitsStartAnswer = switchboard.isAwaitingAnswer
        decoder.append(bytes)
        pump()
    }

    private func pump() {
        // With resynchronisation nothing is thrown. Writing may show in between that the link is gone:
        // what is left of the read belongs to sessions that are over.
        while context != nil, let frame = try? decoder.next() {
            switchboard.receiveFromAccessory(frame)
        }
        if let report = decoder.takeGarbageReport() { switchboard.garbage(report) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switchboard.endRead()
        watch()
    }

    /// While the hub does not read, the head unit cannot go on: its frame is not late.
    func read(context: ChannelHandlerContext) {
        if switchboard.isLinkHeld {
            isReadHeld = true
            stopWatching()
        } else {
            context.read()
        }
    }

    func resumeReading() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
        watch()
    }

    /// Sessions whose frames may be expected, for resynchronisation.
    func expect(sessions: SessionSet) {
        decoder.expected.sessions = sessions
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
        return run.count + ((try? options.getOption(.bufferedWritableBytes)) ?? 0)
    }

    @inline(__always)
    func write(_ frame: Frame) {
        if let before = run.add(frame) { context?.write(wrapOutboundOut(before), promise: nil) }
    }

    func flush() {
        guard let context else { return }
        if let last = run.take() { context.write(wrapOutboundOut(last), promise: nil) }
        context.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { switchboard.output.kernelTookAll() }
        context.fireChannelWritabilityChanged()
    }
}

// MARK: - A head unit that stands still

extension LinkHandler {
    private func watch() {
        guard let loop = context?.eventLoop, !isReadHeld else { return }
        stallWatch.check(self, on: loop)
        silenceWatch.check(self, on: loop)
    }

    private func stopWatching() {
        stallWatch.cancel()
        silenceWatch.cancel()
    }

    private func stalled(_ position: StreamPosition) {
        switchboard.reporter.stalled(position, app: nil)
        decoder.abandonPartialFrame()
        pumpAgain()
    }

    private func settle() {
        decoder.settle()
        pumpAgain()
    }

    /// Without a read.
    private func pumpAgain() {
        switchboard.beginRead()
        pump()
        switchboard.endRead()
        watch()
    }
}
