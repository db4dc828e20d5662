// The channel to the accessory, whatever language is spoken on it; one per opened link.

package import NIOCore

/// One live channel to the accessory. Lives on its event loop; owned by its channel.
package final class LinkConnection: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// A strong reference: the hub releases this connection when the link ends.
    private let hub: Switchboard
    private var reader: (any LinkReader)?
    private var isReadHeld = false
    /// Units that have not been handed to the channel yet.
    private var run = WriteRun()
    private var context: ChannelHandlerContext?
    private var closeReason: String?
    /// Whether relayd ends the link, and not the head unit, a cable or an error.
    private var isOwnEnd = false
    private let kernelBytes: () -> Int

    /// - Parameter kernelBytes: Bytes written to the channel that the kernel still holds.
    init(hub: Switchboard, kernelBytes: @escaping () -> Int = { 0 }) {
        self.hub = hub
        self.kernelBytes = kernelBytes
    }

    // MARK: Life

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        ReadBuffer.adopt(context.channel)
        if context.channel.isActive { open() }
    }

    package func channelActive(context: ChannelHandlerContext) {
        open()
        context.fireChannelActive()
    }

    private func open() {
        guard context != nil, reader == nil else { return }
        let reader = hub.linkOpened(self)
        // The hub's first writes may have shown that the link is already gone.
        if context != nil { self.reader = reader }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end(reason: closeReason ?? "closed by the \(hub.language.accessoryName)")
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end(reason: closeReason ?? "link closed")
    }

    private func end(reason: String) {
        guard context != nil else { return }
        context = nil
        reader?.stops()
        hub.linkClosed(self, reason: reason, isLost: !isOwnEnd)
        reader = nil
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(ErrorWords.text(error, by: hub.language.accessoryName))
    }

    /// A close from anywhere else comes from relayd itself.
    package func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        if closeReason == nil { isOwnEnd = true }
        closeReason = closeReason ?? "closed by relayd"
        context.close(mode: mode, promise: promise)
    }

    /// Sets the reason that the apps and the log get when the link is closed next.
    func willClose(because reason: String) {
        if closeReason == nil { isOwnEnd = true }
        closeReason = closeReason ?? reason
    }

    /// Closes through the channel, because a handler that watches for closes may come after this one.
    package func close(_ reason: String) {
        closeReason = closeReason ?? reason
        context?.channel.close(promise: nil)
    }

    // MARK: Link → apps

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hub.beginRead()
        let bytes = unwrapInboundIn(data)
        hub.link.counters.bytesIn &+= UInt64(bytes.readableBytes)
        reader?.received(bytes)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        hub.endRead()
        if !isReadHeld { reader?.waits() }
    }

    /// While the hub does not read, the accessory cannot continue, so an unfinished unit is not late.
    package func read(context: ChannelHandlerContext) {
        if hub.isLinkHeld {
            isReadHeld = true
            reader?.stops()
        } else {
            context.read()
        }
    }

    func resumeReading() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
        if !isReadHeld { reader?.waits() }
    }

    /// False when a write has shown meanwhile that the link is gone.
    package var isOpen: Bool { context != nil }

    /// The loop of its channel, while the link is read.
    package var readingLoop: (any EventLoop)? { isReadHeld ? nil : context?.eventLoop }

    // MARK: Apps → link

    /// Water marks that make `isWritable` say whether the kernel has taken what was flushed. Bytes that it
    /// has not taken wait in the channel, where nothing should wait that can still be reordered. The rest of
    /// a frame may be below the upper mark and is not worth an event.
    package static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 512)

    /// Whether the kernel has taken everything, after a flush.
    package var isWritable: Bool { context?.channel.isWritable ?? false }

    /// Bytes the kernel has taken but not sent, as far as it can tell. Costs a system call.
    package var bytesInKernel: Int { context == nil ? 0 : kernelBytes() }

    /// Bytes the kernel has not taken yet.
    package var bytesInChannel: Int {
        guard let options = context?.channel.syncOptions else { return 0 }
        return run.count + ((try? options.getOption(.bufferedWritableBytes)) ?? 0)
    }

    /// - Parameter unit: A whole unit.
    @inline(__always)
    package func write(_ unit: ByteBuffer) {
        if let before = run.add(unit) { context?.write(wrapOutboundOut(before), promise: nil) }
    }

    package func flush() {
        guard let context else { return }
        if let last = run.take() { context.write(wrapOutboundOut(last), promise: nil) }
        context.flush()
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { hub.linkTookAll() }
        context.fireChannelWritabilityChanged()
    }
}
