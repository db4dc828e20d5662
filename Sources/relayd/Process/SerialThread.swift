internal import NIOPosix

/// A thread of its own for what may block, one thing after the other: writing to a slow reader, to
/// journald, to systemd. `LineWriter` and `SystemdNotifier` have one each.
///
/// Not a `DispatchQueue`: libdispatch gives its threads the priority nice 0, which a thread that
/// is nice (see `ThreadScheduling`) may not hand out. It would report that on standard error, and so in
/// the journal, at every start.
package final class SerialThread: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 1)

    /// - Parameter name: of the thread, as `top -H` shows it; up to 15 characters.
    package init(named name: String) {
        pool.start()
        pool.submit { _ in ThreadScheduling.lowPriority(as: name) }
    }

    deinit { pool.shutdownGracefully { _ in } }

    /// Returns at once. Jobs run in the order of these calls; those that are left when nobody else
    /// refers to this are done all the same.
    package func async(_ job: @escaping @Sendable () -> Void) {
        pool.submit { _ in withExtendedLifetime(self) { job() } }
    }
}
