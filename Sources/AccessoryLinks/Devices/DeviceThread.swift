import CShims
import Glibc
import HostNames
import NIOConcurrencyHelpers
import Synchronization

/// A thread of its own for system calls that may block in a device's driver: runs them in order, until `finish`.
/// Callers do not wait for it, and can interrupt a call that should end early.
///
/// Not a pool: a driver that never returns would occupy a place in it for good.
final class DeviceThread: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isFinished = false
        /// The thread to interrupt; set while a job runs.
        var busy: pthread_t?
    }

    private let state = Mutex(State())
    /// Where the thread waits when it has nothing to do.
    private let hasNews = ConditionLock(value: false)

    init() throws(LinkProblem) {
        let error = relay_interrupt_prepare()
        guard error == 0 else {
            throw .system("a thread for the device could not be prepared", errno: error)
        }
        let failure = DetachedThread.run { self.work() }
        guard failure == 0 else {
            throw .system("a thread for the device could not be started", errno: failure)
        }
    }

    /// Returns at once; the job runs after those before it.
    func run(_ job: @escaping @Sendable () -> Void) {
        state.withLock { $0.jobs.append(job) }
        tellNews()
    }

    /// Ends the thread after the jobs it has been given.
    func finish() {
        state.withLock { $0.isFinished = true }
        tellNews()
    }

    /// Makes a call that is waiting return early, if its driver lets it. A call that is only about to wait is
    /// missed, so this may have to be repeated.
    func interrupt() {
        // Under the lock, because the thread may end as soon as it is free again.
        state.withLock { state in
            if let thread = state.busy { _ = relay_thread_interrupt(thread) }
        }
    }

    private func tellNews() {
        hasNews.lock()
        hasNews.unlock(withValue: true)
    }

    private func work() {
        _ = relay_thread_set_name("device")
        _ = relay_thread_allow_interrupt()
        while true {
            let (job, isOver) = state.withLock { state in
                state.busy = nil
                guard !state.jobs.isEmpty else {
                    return (nil as (@Sendable () -> Void)?, state.isFinished)
                }
                state.busy = pthread_self()
                return (state.jobs.removeFirst(), false)
            }
            if let job {
                job()
            } else if isOver {
                return
            } else {
                hasNews.lock(whenValue: true)
                hasNews.unlock(withValue: false)
            }
        }
    }
}
