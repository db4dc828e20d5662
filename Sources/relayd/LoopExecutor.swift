// Where relayd's tasks run: on an event loop instead of the system's thread pool.

import Glibc
import NIOCore
import NIOPosix

/// Runs tasks on an event loop. `Relayd` makes it the place for all tasks of the process: control
/// API, observers, supervisor. The relay has a loop of its own, which they cannot hold up.
///
/// Swift's default pool on Linux is libdispatch's. From the first task that runs there it looks
/// after its threads with a timer, one wake-up every second for the life of the process; an idle
/// relayd is to sleep. A thread that is there anyway also costs less than a pool of them.
final class LoopExecutor: TaskExecutor {
    static let shared: LoopExecutor = {
        NIOSingletons.groupLoopCountSuggestion = 1
        return LoopExecutor(MultiThreadedEventLoopGroup.singleton.next())
    }()

    let loop: any EventLoop

    /// How much this thread yields to the relay's, as nice(1) counts: when both want the processor,
    /// decoding and logging get about a tenth of it. What they cannot look at in time they miss,
    /// and count; frames do not wait for them.
    private static let niceness: CInt = 10

    private init(_ loop: any EventLoop) {
        self.loop = loop
        // On Linux 0 is the calling thread. Where it is not allowed, all stays as it is.
        loop.execute {
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
