import Dispatch
import Glibc

/// Lets a command say what it has held back when somebody presses ^C.
enum Interrupt {
    /// Runs `body`, which ^C cancels; then the process ends as ^C would have ended it. A second ^C does
    /// so at once.
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
            signal(SIGINT, SIG_DFL)
            raise(SIGINT)
        }
    }
}
