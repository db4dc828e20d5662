internal import NIOPosix

/// A separate thread for calls that may block, one after the other: writing to a slow reader, to
/// journald, to systemd. `LineWriter` and `SystemdNotifier`, for example, have one each.
///
/// Not a `DispatchQueue`: libdispatch sets its threads to nice 0, which a nicer thread (see
/// `ThreadScheduling`) is not allowed to do. It would report that on standard error, and so in the
/// journal, at every start.
package final class SerialThread: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 1)

    /// - Parameter name: of the thread, as `top -H` shows it; up to 15 characters.
    package init(named name: String) {
        pool.start()
        pool.submit { _ in ThreadScheduling.lowPriority(as: name) }
    }

    deinit { pool.shutdownGracefully { _ in } }

    /// Returns at once. Jobs run in the order of these calls; pending jobs keep this object alive
    /// and are still done.
    package func async(_ job: @escaping @Sendable () -> Void) {
        pool.submit { _ in withExtendedLifetime(self) { job() } }
    }
}
