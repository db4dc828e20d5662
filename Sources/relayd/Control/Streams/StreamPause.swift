import NIOCore
import SDLTraffic
import ServiceLifecycle

/// How long a stream of messages or events waits between two reads, and for what.
struct StreamPause: Sendable {
    /// Interval of the heartbeat on an idle stream.
    let heartbeat: TimeAmount
    let timers: any EventLoop

    /// Time between reads while messages come in quick succession, so that messages a person sees
    /// as one are one write. A single message is written at once.
    private static let pace = TimeAmount.milliseconds(20)

    var now: NIODeadline { timers.now }

    /// Waits until there is something to write, a heartbeat is due, or relayd stops.
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
