import Logging
import NIOCore
import NIOPosix
import Replays
import SDLProtocol
import Traces

/// Runs a `RecordedHeadUnit` on a channel's event loop: bytes in, bytes out, one timer, and a file that
/// is read ahead on a thread of its own, one batch at a time.
///
/// When the app side does not read, the handler stops reading too.
final class RecordedHeadUnitHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var headUnit: RecordedHeadUnit
    private var recording: Recording
    private var readAlready: [Recording.Batch]
    private var decoder = FrameDecoder(rules: .fromApp(), recovery: .resynchronise)
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
    private var isReading = false
    private var hasFailed = false
    private var isReadHeld = false

    private static let logger = Logger(label: "replay")

    init(
        _ options: RecordedHeadUnit.Options, _ recording: Recording,
        readAlready: [Recording.Batch]
    ) {
        headUnit = RecordedHeadUnit(options)
        self.recording = recording
        self.readAlready = readAlready
    }

    // MARK: The recording

    func channelActive(context: ChannelHandlerContext) {
        let batches = readAlready
        readAlready = []
        for batch in batches { feed(batch, context: context) }
        context.fireChannelActive()
    }

    private func feed(_ batch: Recording.Batch, context: ChannelHandlerContext) {
        headUnit.masked = batch.masked
        act(
            headUnit.feed(batch.steps, isLast: batch.isLast, at: context.eventLoop.now),
            context: context)
    }

    private func readAhead(context: ChannelHandlerContext) {
        guard !isReading, !hasFailed, context.channel.isActive else { return }
        let again = headUnit.wantsRestart
        guard again || headUnit.wantsMore else { return }
        isReading = true
        let old = recording
        let result = NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            let recording = again ? try Recording(old.path, .headUnit) : old
            return (recording, try recording.next())
        }
        result.assumeIsolated().whenComplete { result in
            self.isReading = false
            switch result {
            case .success((let recording, let batch)):
                if again { self.headUnit.restart() }
                self.recording = recording
                self.feed(batch, context: context)
            case .failure(let error):
                // What was read before is still replayed.
                self.hasFailed = true
                Self.logger.error(
                    "the recording ends here: \(error)", metadata: ["file": "\(old.path)"])
                self.act(
                    self.headUnit.feed([], isLast: true, at: context.eventLoop.now),
                    context: context)
            }
        }
    }

    // MARK: Bytes in

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data))
        // In `Recovery.resynchronise` the decoder skips garbage and throws nothing.
        while let frame = try? decoder.next() {
            act(headUnit.receive(frame, at: context.eventLoop.now), context: context)
            if frame.type == .control { updateKnownSessions() }
        }
        _ = decoder.takeGarbageReport()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.scheduled.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.scheduled.cancel()
        timer = nil
    }

    /// Lets the decoder accept frames of running sessions sooner when it looks for the next frame.
    private func updateKnownSessions() {
        var known = SessionSet()
        for id in headUnit.sessionIDs { known.insert(id) }
        decoder.expected.sessions = known
    }

    // MARK: Out

    private func act(_ output: RecordedHeadUnit.Output, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        for divergence in output.divergences {
            Self.logger.notice("the replay is not the recording: \(divergence)")
        }
        for frame in output.frames {
            context.write(wrapOutboundOut(frame.wire), promise: nil)
        }
        if !output.frames.isEmpty { context.flush() }
        scheduleTimer(context: context)
        readAhead(context: context)
    }

    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            context.read()
        } else {
            isReadHeld = true
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, isReadHeld {
            isReadHeld = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: Time

    /// Keeps exactly one task for the next deadline, and none while nothing is due.
    private func scheduleTimer(context: ChannelHandlerContext) {
        let deadline = headUnit.nextDeadline
        guard deadline != timer?.deadline else { return }
        timer?.scheduled.cancel()
        timer = nil
        guard let deadline, context.channel.isActive else { return }
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.act(self.headUnit.advance(to: context.eventLoop.now), context: context)
        }
        timer = (deadline, scheduled)
    }
}
