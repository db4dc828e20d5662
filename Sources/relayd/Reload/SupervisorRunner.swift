import AccessoryLinks
import Synchronization

/// The place of the link supervisor: runs one after the other, and the one before has closed its
/// link when the next begins. `RelayService` runs it, a reload puts another supervisor in.
final class SupervisorRunner: Sendable {
    private let latest: Mutex<LinkSupervisor>
    private let supervisors: AsyncStream<LinkSupervisor>
    private let replacement: AsyncStream<LinkSupervisor>.Continuation

    init(_ first: LinkSupervisor) {
        // Of several that wait only the last one counts.
        (supervisors, replacement) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        latest = Mutex(first)
        replacement.yield(first)
    }

    /// - Parameter reason: why the link that is open ends, for apps and log.
    func replace(with supervisor: LinkSupervisor, because reason: String) {
        latest.withLock { latest in
            latest.willEnd(because: reason)
            latest = supervisor
        }
        replacement.yield(supervisor)
    }

    /// Closes the link if it was open at `moment` and still is, and opens it again; does not wait.
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
