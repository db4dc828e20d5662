import NIOCore
import SDLTraffic
import ServiceLifecycle

/// How long a stream of messages or events waits between two looks, and what for.
struct StreamPause: Sendable {
    /// A stream on which nothing happens says so this often.
    let heartbeat: TimeAmount
    let timers: any EventLoop

    /// Time between looks while messages come in a row. What a person sees as one is one write
    /// then; a message that comes alone is written at once.
    private static let pace = TimeAmount.milliseconds(20)

    var now: NIODeadline { timers.now }

    /// Until there is something to write, a sign of life is due, or relayd stops.
    ///
    /// - Throws: When the client has left.
    func wait(
        _ waiter: Waiter, since lastWrite: NIODeadline, _ news: () async -> Void
    ) async throws {
        await withGracefulShutdownHandler {
            await wait(until: now + Self.pace, waiter) { await waiter.wait() }
            guard !Task.isShuttingDownGracefully else { return }
            await wait(until: lastWrite + heartbeat, waiter, news)
        } onGracefulShutdown: {
            waiter.wake()
        }
        try Task.checkCancellation()
    }

    /// Not `Task.sleep`, which would start the system's thread pool (see `LoopExecutor`).
    private func wait(
        until deadline: NIODeadline, _ waiter: Waiter, _ news: () async -> Void
    ) async {
        let timer = timers.scheduleTask(deadline: deadline) { waiter.wake() }
        await news()
        timer.cancel()
    }
}
