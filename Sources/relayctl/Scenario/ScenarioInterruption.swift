import Dispatch
import Glibc
import NIOConcurrencyHelpers

/// ^C and SIGTERM while scenarios run: what they have added is taken back before the process ends. A second
/// ^C ends it at once.
final class ScenarioInterruption: Sendable {
    private struct State {
        var signal: Int32?
        var tell: (@Sendable () -> Void)?
    }

    private let state = NIOLockedValueBox(State())

    /// The signal that came; nil while there is none.
    var signal: Int32? { state.withLockedValue { $0.signal } }

    /// Whom to tell of it, at once if it came before.
    func tell(_ body: (@Sendable () -> Void)?) {
        let isOver = state.withLockedValue { state in
            state.tell = body
            return state.signal != nil
        }
        if isOver { body?() }
    }

    private func came(_ number: Int32) {
        Glibc.signal(number, SIG_DFL)
        let body = state.withLockedValue { state in
            state.signal = number
            return state.tell
        }
        body?()
    }

    /// Runs the body with both signals caught.
    func during<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let sources = [SIGINT, SIGTERM].map { number in
            Glibc.signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { self.came(number) }
            source.resume()
            return source
        }
        defer {
            for source in sources { source.cancel() }
            for number in [SIGINT, SIGTERM] { Glibc.signal(number, SIG_DFL) }
        }
        return try await body()
    }
}
