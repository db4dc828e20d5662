import NIOCore
import NIOPosix

/// Runs tasks on an event loop. `Relayd` makes the shared one the executor of the process: signals,
/// supervisor, watchdog, the steps of shutdown. The relay, the control API and the observers have
/// loops of their own: a large answer does not delay the observers, and neither a status nor shutdown
/// waits for decoding.
///
/// Swift's default pool on Linux is libdispatch's. From its first task on, it monitors its threads
/// with a timer, one wake-up every second for the life of the process; an idle relayd should sleep.
/// An existing thread also costs less than a pool of threads.
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
