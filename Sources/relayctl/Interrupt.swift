import Glibc

/// Lets a command print held-back output before ^C ends it.
enum Interrupt {
    /// Runs `body`. ^C cancels it, and then the process ends as if by an uncaught ^C; a second ^C ends it
    /// at once.
    static func cancels(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let (interrupts, interrupt) = AsyncStream<Void>.makeStream()
        let signals = CaughtSignals([SIGINT]) { _ in interrupt.yield() }
        defer { signals.end() }
        let task = Task { try await body() }
        let canceller = Task {
            for await _ in interrupts { task.cancel() }
        }
        defer { canceller.cancel() }
        do {
            try await task.value
        } catch is CancellationError {
            OwnSignal.send(SIGINT)
        }
    }
}

enum OwnSignal {
    /// Sends this process a signal that is no longer caught.
    static func send(_ number: Int32) {
        signal(number, SIG_DFL)
        // Tasks run on threads of libdispatch, which block nearly all signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
    }
}
