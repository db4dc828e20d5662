import NIOCore
import NIOPosix

/// Runs tasks on an event loop. `Relayd` makes the shared one the place for the tasks of the process:
/// signals, supervisor, watchdog, the steps of a stop. The relay has a loop of its own, and so have
/// the control API and the observers: a large answer keeps nobody from seeing frames, and neither a
/// status nor a stop waits for what is being decoded.
///
/// Swift's default pool on Linux is libdispatch's. From the first task that runs there it looks
/// after its threads with a timer, one wake-up every second for the life of the process; an idle
/// relayd is to sleep. A thread that is there anyway also costs less than a pool of them.
final class LoopExecutor: TaskExecutor {
    static let shared = LoopExecutor(MultiThreadedEventLoopGroup.singleton.next())

    let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
