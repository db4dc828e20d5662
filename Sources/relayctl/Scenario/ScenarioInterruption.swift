import Glibc
import NIOConcurrencyHelpers

/// Handles ^C and SIGTERM while scenarios run: what they have added is removed before the process ends. A
/// second ^C ends it at once.
final class ScenarioInterruption: Sendable {
    private struct State {
        var signal: Int32?
        var tell: (@Sendable () -> Void)?
    }

    private let state = NIOLockedValueBox(State())

    /// The signal received; nil if none.
    var signal: Int32? { state.withLockedValue { $0.signal } }

    /// Sets the function to call on a signal; it is called at once if one has already arrived.
    func tell(_ body: (@Sendable () -> Void)?) {
        let isOver = state.withLockedValue { state in
            state.tell = body
            return state.signal != nil
        }
        if isOver { body?() }
    }

    private func came(_ number: Int32) {
        let body = state.withLockedValue { state in
            state.signal = number
            return state.tell
        }
        body?()
    }

    /// Runs the body with both signals caught.
    func during<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let signals = CaughtSignals([SIGINT, SIGTERM]) { self.came($0) }
        defer { signals.end() }
        return try await body()
    }
}
