import Glibc

/// A thread for one job, never joined.
package enum DetachedThread {
    private final class Job: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts the job and returns at once.
    ///
    /// - Returns: 0, or the error of pthread_create(3); then the job is not run.
    package static func run(_ run: @escaping @Sendable () -> Void) -> CInt {
        // Signals are for the threads that expect them; a thread begins with its creator's mask.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let job = Unmanaged.passRetained(Job(run))
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { job in
                guard let job else { return nil }
                Unmanaged<Job>.fromOpaque(job).takeRetainedValue().run()
                return nil
            }, job.toOpaque())
        guard error == 0 else {
            job.release()
            return error
        }
        pthread_detach(thread)
        return 0
    }
}
