package import NIOCore
import SDLProtocol

/// Runs a `SampleApp` on a channel's event loop and closes the channel when the app is done.
/// `relayctl sample-app` and tests use it.
package final class SampleAppHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private var app: SampleApp
    private let show: (String) -> Void
    private let outcome: EventLoopPromise<SampleApp.Outcome>
    private let registered: () -> Void
    private var wasRegistered = false
    private var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
    private var context: ChannelHandlerContext?

    /// - Parameters:
    ///   - show: Called with each line of progress, on the event loop.
    ///   - outcome: Succeeds when the app has ended, whether it finished or failed.
    ///   - registered: Called once, on the event loop, when the head unit has taken the app.
    package init(
        _ app: SampleApp, outcome: EventLoopPromise<SampleApp.Outcome>,
        registered: @escaping () -> Void = {}, show: @escaping (String) -> Void
    ) {
        self.app = app
        self.outcome = outcome
        self.registered = registered
        self.show = show
    }

    /// Ends a stay in an orderly way. To be called on the event loop.
    package func leave() {
        guard let context else { return }
        act(app.leave(at: context.eventLoop.now), context: context)
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.context = context
        act(app.connected(at: context.eventLoop.now), context: context)
        context.fireChannelActive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data))
        do {
            while let frame = try decoder.next() {
                act(app.receive(frame, at: context.eventLoop.now), context: context)
            }
        } catch {
            let bytes = decoder.undecoded
            let advice = WrongProtocol(firstBytes: bytes).map { "; \($0.adviceOnLink)" } ?? ""
            finish(
                .failed(
                    "the other side does not speak SDL: \(error), in \(bytes.hexExcerpt(limit: 16))"
                        + advice),
                context: context)
        }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        act(app.disconnected(), context: context)
        self.context = nil
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failed("the connection failed: \(error)"), context: context)
    }

    private func act(_ output: SampleApp.Output, context: ChannelHandlerContext) {
        for line in output.lines { show(line) }
        for frame in output.frames { context.write(wrapOutboundOut(frame.wire), promise: nil) }
        if !output.frames.isEmpty { context.flush() }
        if let outcome = app.outcome {
            finish(outcome, context: context)
        } else {
            if app.isRegistered, !wasRegistered {
                wasRegistered = true
                registered()
            }
            scheduleTimer(context: context)
        }
    }

    private func finish(_ result: SampleApp.Outcome, context: ChannelHandlerContext) {
        timer?.scheduled.cancel()
        timer = nil
        outcome.succeed(result)
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
