import NIOCore

/// Ends a TCP connection so that what was written last arrives: closes the sending half when everything is
/// written, and the rest when the peer has closed its half or after `patience`.
///
/// A socket that is closed with unread bytes resets the connection (RFC 2525, 2.17), and the peer may then
/// never see what was sent last. So the handler goes on reading meanwhile, and discards what arrives. Lives
/// on the event loop, as its handler does.
final class LingeringClose {
    /// The usual time. App libraries hang up at once; an app at a breakpoint must not hold its place for
    /// long.
    static let patience: TimeAmount = .seconds(2)

    private let patience: TimeAmount
    private var timer: Scheduled<Void>?

    /// - Parameter patience: How long the peer may take to read the last words and hang up.
    init(patience: TimeAmount = LingeringClose.patience) {
        self.patience = patience
    }

    /// Ends the sending half after everything that was flushed.
    func begin(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience) {
            context.close(promise: nil)
        }
        let ended = context.eventLoop.makePromise(of: Void.self)
        ended.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: ended)
    }

    /// To be called when the channel is closed.
    func cancel() {
        timer?.cancel()
        timer = nil
    }
}
