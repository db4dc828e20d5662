internal import CShims
internal import Glibc
internal import Synchronization

// A thread for what may block: writing to a slow reader, to journald, to systemd. `LineWriter` and
// `SystemdNotifier` have one each.

/// Does one thing after the other, on a thread of its own that begins with the first.
///
/// Not a `DispatchQueue`: libdispatch gives its threads the priority nice 0, which a thread that
/// is nice (see `LoopExecutor`) may not hand out. At every start it would complain about that on
/// standard error, in the journal for all to see.
package final class SerialThread: Sendable {
    package typealias Job = @Sendable () -> Void

    private let jobs: Jobs

    /// - Parameter name: names the thread in ps and debuggers, 15 bytes at most.
    package init(_ name: String) {
        jobs = Jobs(name: name)
    }

    deinit { jobs.end() }

    /// Returns at once. Jobs run in the order of these calls; those that are left when the last
    /// reference goes are done all the same.
    package func async(_ job: @escaping Job) { jobs.add(job) }
}

/// What the thread has to do; lives as long as it or its owner.
private final class Jobs: Sendable {
    private struct State {
        var waiting: [SerialThread.Job] = []
        var isRunning = false
        var isOver = false
    }

    private let name: String
    private let state = Mutex(State())
    /// The thread sleeps on it. Unsafe by its type alone: sem_post and sem_wait are for several
    /// threads at once, and it goes with the last reference, when nobody is left to call them.
    private nonisolated(unsafe) let bell = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init(name: String) {
        self.name = name
        sem_init(bell, 0, 0)
    }

    deinit {
        sem_destroy(bell)
        bell.deallocate()
    }

    func add(_ job: @escaping SerialThread.Job) {
        let (mustRing, mustStart) = state.withLock { state in
            state.waiting.append(job)
            defer { state.isRunning = true }
            return (state.waiting.count == 1, !state.isRunning)
        }
        if mustStart, !start() {
            // The caller waits then; better than to lose what it has to say.
            state.withLock { $0.isRunning = false }
            for job in take() { job() }
        } else if mustRing {
            sem_post(bell)
        }
    }

    func end() {
        state.withLock { $0.isOver = true }
        sem_post(bell)
    }

    private func take() -> [SerialThread.Job] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// - Returns: whether there is a thread now.
    private func start() -> Bool {
        // Signals are for the threads that expect them; a new one inherits the mask.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let argument = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Jobs>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument.toOpaque())
        guard error == 0 else {
            argument.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func run() {
        _ = relay_thread_set_name(name)
        while true {
            let waiting = take()
            for job in waiting { job() }
            guard waiting.isEmpty else { continue }
            if state.withLock({ $0.isOver && $0.waiting.isEmpty }) { return }
            // Ends early when a signal comes or for a job done already: then there is nothing.
            sem_wait(bell)
        }
    }
}
