import AccessoryLinks
import Synchronization

/// Runs link supervisors, one after the other: each has closed its link before the next begins.
/// `RelayService` runs it; a reload replaces the supervisor.
final class SupervisorRunner: Sendable {
    private let latest: Mutex<LinkSupervisor>
    private let supervisors: AsyncStream<LinkSupervisor>
    private let replacement: AsyncStream<LinkSupervisor>.Continuation

    init(_ first: LinkSupervisor) {
        // Of several waiting supervisors only the last one counts.
        (supervisors, replacement) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        latest = Mutex(first)
        replacement.yield(first)
    }

    /// - Parameter reason: why the open link ends, for apps and log.
    func replace(with supervisor: LinkSupervisor, because reason: String) {
        latest.withLock { latest in
            latest.willEnd(because: reason)
            latest = supervisor
        }
        replacement.yield(supervisor)
    }

    /// Closes and reopens the link if it was open at `moment` and still is; does not wait.
    func reopen(askedAt moment: ContinuousClock.Instant) {
        latest.withLock { $0 }.reopen(askedAt: moment)
    }

    /// Runs until the task is cancelled, which closes the link.
    func run() async {
        var iterator = supervisors.makeAsyncIterator()
        var next = await iterator.next()
        while let supervisor = next {
            next = await withTaskGroup(of: Void.self) { group in
                group.addTask { await supervisor.run() }
                let following = await iterator.next()
                group.cancelAll()
                return following
            }
        }
    }
}
