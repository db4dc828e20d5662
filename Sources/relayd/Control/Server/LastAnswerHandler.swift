import NIOCore
import NIOHTTP1

/// Closes a connection once the client has its last answer and has sent its whole request.
///
/// An answer is the last one if the client asked to close the connection, if its request had a body, or
/// if relayd stops (`ChannelShouldQuiesceEvent`). In each case the sending half is closed, and
/// `PlaceHandler` then closes the whole connection. Before that, input that the client is still sending
/// is read and discarded, as long as it keeps coming: otherwise TCP would answer it with a reset, and a
/// client that has not read the answer yet would lose it.
final class LastAnswerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let bytes: PlaceHandler
    private(set) var conversation = Conversation()
    /// The last answer has been given.
    private var isEnding = false
    /// The next check of whether the client has sent more, while the rest of its input is
    /// discarded.
    private var look: Scheduled<Void>?
    private var hasGoneOn = false

    /// - Parameter bytes: The handler of the same connection.
    init(_ bytes: PlaceHandler) {
        self.bytes = bytes
    }

    // MARK: What the client sends

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: conversation.requestBegins()
        case .body: break
        case .end: conversation.requestEnds()
        }
        if isEnding { hear(context) } else { context.fireChannelRead(data) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // Later handlers do not get this input, and may not ask for more.
        if isEnding { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        conversation.inputBreaks(isAtEmptyLine: bytes.isAtEmptyLine)
        if isEnding { hear(context) } else { context.fireErrorCaught(error) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            if conversation.stop() { close(context: context, mode: .output, promise: nil) }
        case ChannelEvent.inputClosed:
            conversation.inputEnds()
            context.fireUserInboundEventTriggered(event)
            if isEnding { hear(context) }
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isEnding else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        guard case .end = unwrapOutboundIn(data), conversation.answerEnds() else {
            context.write(data, promise: promise)
            return
        }
        context.writeAndFlush(data, promise: promise)
        close(context: context, mode: .output, promise: nil)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else {
            context.close(mode: mode, promise: promise)
            return
        }
        context.channel.closeFuture.cascade(to: promise)
        guard !isEnding else { return }
        isEnding = true
        guard !conversation.isInputWhole else { return end(context) }
        lookAgain(context, looks: Self.looks)
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        look?.cancel()
        context.fireChannelInactive()
    }

    // MARK: Discarding the rest of the input

    /// Number of checks that add up to `ControlLimits.idle`, the time limit of a request.
    private static let looks = Int(
        ControlLimits.idle.nanoseconds / ControlLimits.silence.nanoseconds)

    private func hear(_ context: ChannelHandlerContext) {
        hasGoneOn = true
        if conversation.isInputWhole { end(context) }
    }

    private func lookAgain(_ context: ChannelHandlerContext, looks: Int) {
        hasGoneOn = false
        look = context.eventLoop.assumeIsolated().scheduleTask(in: ControlLimits.silence) {
            guard self.hasGoneOn, looks > 1 else { return self.end(context) }
            self.lookAgain(context, looks: looks - 1)
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        look?.cancel()
        context.close(mode: .output, promise: nil)
    }
}
