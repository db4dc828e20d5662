import Dispatch
import Glibc

/// Lets a command print what it has held back before ^C ends it.
enum Interrupt {
    /// Runs `body`. ^C cancels it, and then the process ends as ^C would have ended it; a second ^C ends it
    /// at once.
    static func cancels(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task { try await body() }
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        source.setEventHandler {
            signal(SIGINT, SIG_DFL)
            task.cancel()
        }
        source.resume()
        defer {
            source.cancel()
            signal(SIGINT, SIG_DFL)
        }
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
