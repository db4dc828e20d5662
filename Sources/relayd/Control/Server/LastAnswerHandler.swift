import NIOCore
import NIOHTTP1

/// Closes a connection when the client has its last answer and has sent all of its request.
///
/// An answer is the last one when the client asked to close the connection, when its request had a body,
/// and when relayd stops (`ChannelShouldQuiesceEvent`). Each time the sending half is closed, and
/// `PlaceHandler` closes the whole connection then. What the client is still sending is read and thrown
/// away first, as long as it keeps coming: TCP would answer it with a reset, and that takes the answer
/// back from a client that has not read it yet.
final class LastAnswerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let bytes: PlaceHandler
    private(set) var conversation = Conversation()
    /// The last answer has been given.
    private var isEnding = false
    /// The client is heard out, and this is when it is looked whether it has gone on.
    private var look: Scheduled<Void>?
    private var hasGoneOn = false

    /// - Parameter bytes: The one of the same connection.
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
        // Nobody behind this one wants it.
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

    // MARK: What it is answered

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

    // MARK: Hearing it out

    /// Looks that make `ControlLimits.idle`, the time a request has.
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
