// How often the control API had no room for another client: counted by `ControlServer`, told by
// `StatusReporter`.

package import ControlAPI
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// The moments at which all places of the control API were taken.
package final class ControlCrowd: Sendable {
    /// Under this name it stands in the status, as `API.md` has it.
    package static let limitName = "control.connections"

    private struct State {
        var count = 0
        var lastAt: Timestamp?
    }
    private let state = Mutex(State())
    private let onHit: @Sendable (_ count: Int) -> Void

    /// - Parameter onHit: told of the first time, and of 2, 4, 8, … times.
    package init(onHit: @escaping @Sendable (_ count: Int) -> Void = { _ in }) {
        self.onHit = onHit
    }

    /// What the status says of it; nil when there was room at all times.
    package var hits: ControlAPI.LimitHit? {
        let (count, lastAt) = state.withLock { ($0.count, $0.lastAt) }
        return lastAt.map {
            ControlAPI.LimitHit(
                name: Self.limitName, limit: ControlSocket.maximumConnections, count: count,
                lastAt: $0)
        }
    }

    /// The last place is taken: whoever comes now waits.
    func isFull() {
        let count = state.withLock { state in
            state.count += 1
            state.lastAt = .now
            return state.count
        }
        if count & (count - 1) == 0 { onHit(count) }
    }
}

/// Lets as many clients in as one socket has room for; the others wait in the kernel's queue.
struct ControlPlaces: AvailableConnectionsDelegate {
    let maximum: Int
    let crowd: ControlCrowd
    let logger: Logger
    private var taken = 0

    init(_ maximum: Int, crowd: ControlCrowd, logger: Logger) {
        self.maximum = maximum
        self.crowd = crowd
        self.logger = logger
    }

    mutating func connectionOpened() {
        taken += 1
        guard taken == maximum else { return }
        logger.debug("all \(maximum) connections are taken, further clients wait")
        crowd.isFull()
    }

    mutating func connectionClosed() { taken -= 1 }

    func isAcceptingNewConnections() -> Bool { taken < maximum }
}
