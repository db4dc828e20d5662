import Synchronization

/// A wait that can be ended from any thread, even before it begins: for the next entry of a ring, a timeout,
/// or any other wake-up. Serves one task.
package final class Waiter: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Void, Never>?
        var isWoken = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the wait, or the next one if none is in progress.
    package func wake() {
        let continuation = state.withLock { state in
            state.isWoken = state.continuation == nil
            return state.continuation.take()
        }
        continuation?.resume()
    }

    /// Waits until `wake` is called or the task is cancelled.
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

/// The readers that wait for the next entry of a ring.
package final class WaitingReaders: Sendable {
    private let waiters = Mutex<[ObjectIdentifier: Waiter]>([:])

    package init() {}

    package var count: Int { waiters.withLock { $0.count } }

    /// Wakes the readers because the ring has something new.
    package func wake() {
        let waiters = waiters.withLock { waiters in
            defer { waiters = [:] }
            return waiters
        }
        for waiter in waiters.values { waiter.wake() }
    }

    /// Returns when there is something to read, the waiter is woken, or the task is cancelled.
    ///
    /// - Parameter isThere: Whether there is something already; called after the waiter is registered, so
    ///   that nothing is missed.
    package func wait(_ waiter: Waiter, unless isThere: () -> Bool) async {
        let id = ObjectIdentifier(waiter)
        waiters.withLock { $0[id] = waiter }
        if !isThere() { await waiter.wait() }
        waiters.withLock { $0[id] = nil }
    }
}
