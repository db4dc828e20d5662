import Synchronization

/// One reader of `MessageRing`, or of relayd's events, that waits: for the next entry, or for
/// whatever else wakes it. Serves one task.
package final class MessageWaiter: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Void, Never>?
        var isWoken = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the wait, or the next one when there is none.
    package func wake() {
        let continuation = state.withLock { state in
            state.isWoken = state.continuation == nil
            return state.continuation.take()
        }
        continuation?.resume()
    }

    /// Until `wake` is called or the task is cancelled.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayWait = state.withLock { state in
                    defer { state.isWoken = false }
                    guard !state.isWoken, !Task.isCancelled else { return false }
                    state.continuation = continuation
                    return true
                }
                if !mayWait { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }
}
