import NIOCore
import NIOPosix
import RelayCore
import Replays
import SDLProtocol

/// Runs a `RecordedApp` on a channel's event loop and closes the channel when it is done. The file is
/// read ahead on NIO's threads for files, one batch at a time.
final class RecordedAppHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How the replay ended, and what differed.
    struct Result: Sendable {
        var outcome: RecordedApp.Outcome
        var counts: RecordedApp.Counts
        var divergences: [Divergence]
    }

    private var app: RecordedApp
    private let recording: Recording
    private let id: AppID
    private let result: EventLoopPromise<Result>
    private var divergences: [Divergence] = []
    private var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
    private var isReading = false
    private var isOver = false

    /// - Parameter id: The app whose part is played.
    init(
        _ options: RecordedApp.Options, _ recording: Recording, of id: AppID,
        result: EventLoopPromise<Result>
    ) {
        app = RecordedApp(options)
        self.recording = recording
        self.id = id
        self.result = result
    }

    func channelActive(context: ChannelHandlerContext) {
        act(app.connected(at: context.eventLoop.now), context: context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data))
        do {
            while let frame = try decoder.next() {
                act(app.receive(frame, at: context.eventLoop.now), context: context)
            }
        } catch {
            finish(
                .failed(
                    "the other side does not speak SDL: \(error), in "
                        + decoder.undecoded.hexExcerpt(limit: 16)), context: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        act(app.disconnected(at: context.eventLoop.now), context: context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failed("the connection failed: \(error)"), context: context)
    }

    private func act(_ output: RecordedApp.Output, context: ChannelHandlerContext) {
        guard !isOver else { return }
        divergences += output.divergences
        for frame in output.frames {
            context.write(wrapOutboundOut(frame.wire), promise: nil)
        }
        if !output.frames.isEmpty { context.flush() }
        if let outcome = app.outcome {
            finish(outcome, context: context)
        } else {
            scheduleTimer(context: context)
            readAhead(context: context)
        }
    }

    private func readAhead(context: ChannelHandlerContext) {
        guard !isReading, app.wantsMore else { return }
        isReading = true
        let (recording, id) = (recording, id)
        let batch = NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            var batch = try recording.next()
            batch.steps.removeAll { $0.app != id }
            return batch
        }
        batch.assumeIsolated().whenComplete { result in
            self.isReading = false
            switch result {
            case .success(let batch):
                self.app.masked = batch.masked
                self.act(
                    self.app.feed(batch.steps, isLast: batch.isLast, at: context.eventLoop.now),
                    context: context)
            case .failure(let error): self.finish(.failed("\(error)"), context: context)
            }
        }
    }

    private func finish(_ outcome: RecordedApp.Outcome, context: ChannelHandlerContext) {
        guard !isOver else { return }
        isOver = true
        timer?.scheduled.cancel()
        timer = nil
        result.succeed(
            Result(outcome: outcome, counts: app.counts, divergences: divergences))
        context.close(promise: nil)
    }

    private func scheduleTimer(context: ChannelHandlerContext) {
        guard app.nextDeadline != timer?.deadline else { return }
        timer?.scheduled.cancel()
        timer = nil
        guard let deadline = app.nextDeadline else { return }
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.act(self.app.advance(to: context.eventLoop.now), context: context)
        }
        timer = (deadline, scheduled)
    }
}
