package import NIOCore
import SDLProtocol

/// Runs a `SimulatedAccessory` on a channel's event loop: bytes in, bytes out, one timer. The
/// `sim:` link and tests use it.
///
/// Like sdl_core it skips bytes that are not a frame, and closes the channel when that happens too often. When the
/// app side does not read, the handler stops reading too.
package final class SimulatedAccessoryHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// sdl_core's `MalformedFrequencyCount` and `MalformedFrequencyTime`.
    static let maximumGarbageOccurrences = 10
    static let garbageWindow = TimeAmount.seconds(1)

    /// The head unit; tests examine it, on the channel's event loop.
    package private(set) var accessory: SimulatedAccessory
    /// How often a run of bytes was no frame.
    package private(set) var garbageOccurrences = 0

    private var decoder = FrameDecoder(rules: .fromApp(), recovery: .resynchronise)
    private var recentGarbage: [NIODeadline] = []
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
    private var isReadHeld = false

    package convenience init(configuration: SimulatedAccessory.Configuration) {
        self.init(SimulatedAccessory(configuration: configuration))
    }

    package init(_ accessory: SimulatedAccessory) {
        self.accessory = accessory
    }

    // MARK: Bytes in

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data))
        // In `Recovery.resynchronise` the decoder skips garbage and throws nothing.
        while let frame = try? decoder.next() {
            send(accessory.receive(frame, at: context.eventLoop.now), context: context)
            if frame.type == .control { updateKnownSessions() }
        }
        if decoder.takeGarbageReport() != nil { countGarbage(context: context) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        scheduleTimer(context: context)
        context.fireChannelReadComplete()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        timer?.scheduled.cancel()
        timer = nil
        accessory.disconnected()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        timer?.scheduled.cancel()
        timer = nil
    }

    /// Lets the decoder accept frames of running sessions sooner when it looks for the next frame.
    private func updateKnownSessions() {
        var known = SessionSet()
        for id in accessory.sessionIDs { known.insert(id) }
        decoder.expected.sessions = known
    }

    private func countGarbage(context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        garbageOccurrences += 1
        recentGarbage.removeAll { $0 + Self.garbageWindow <= now }
        recentGarbage.append(now)
        if recentGarbage.count > Self.maximumGarbageOccurrences { context.close(promise: nil) }
    }

    // MARK: Bytes out

    private func send(_ frames: [Frame], context: ChannelHandlerContext) {
        for frame in frames { context.write(wrapOutboundOut(frame.wire), promise: nil) }
    }

    package func read(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            context.read()
        } else {
            isReadHeld = true
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, isReadHeld {
            isReadHeld = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: Time

    /// Keeps exactly one task for the next deadline, and none while there is nothing to wait for.
    private func scheduleTimer(context: ChannelHandlerContext) {
        let deadline = accessory.nextDeadline
        guard deadline != timer?.deadline else { return }
        timer?.scheduled.cancel()
        timer = nil
        guard let deadline, context.channel.isActive else { return }
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timerFired(context: context)
        }
        timer = (deadline, scheduled)
    }

    private func timerFired(context: ChannelHandlerContext) {
        timer = nil
        send(accessory.advance(to: context.eventLoop.now), context: context)
        context.flush()
        scheduleTimer(context: context)
    }
}
