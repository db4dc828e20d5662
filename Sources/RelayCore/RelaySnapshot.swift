// What the hub looks like at one moment; made on the event loop, read by the control API.

package import SDLProtocol

/// The hub at one moment.
package struct RelaySnapshot: Sendable {
    package struct Link: Sendable {
        package var isUp: Bool
        package var counters: TrafficCounters
        /// Bytes dropped because they were no frames.
        package var garbageBytes: UInt64
        /// What the other side seems to speak if it is not SDL.
        package var recognised: WrongProtocol?
        /// How often the link has been opened.
        package var openedCount: Int
        package var make: String?
        package var model: String?
        package var protocolVersion: String?
        package var openSessions: Int
        /// Sessions whose goodbye the head unit has not confirmed.
        package var farewellSessions: Int
        package var waitingStarts: Int
        package var isAwaitingAnswer: Bool
        /// Bytes waiting for the link.
        package var queuedBytes: Int
        /// Bytes written that have not left this computer, as far as the kernel can tell.
        package var bytesInFlight: Int
        /// How fast the link takes bytes, per second; nil until frames had to wait for it.
        package var drainRate: Int?
        /// Not read at the moment because an app does not take what it brings.
        package var isHeld: Bool
    }

    package struct App: Sendable {
        package var id: AppID
        package var peer: String
        package var connectedAt: WallTime
        package var sessions: [SessionGrant]
        /// Waits for an answer to StartService.
        package var isStarting: Bool
        package var counters: TrafficCounters
        /// Bytes waiting for this app.
        package var queuedBytes: Int
        package var refusedFrames: UInt64
        package var lastProblem: String?
        package var isPaused: Bool
    }

    /// An app that was here, and why it is not any more.
    package struct Departure: Sendable {
        package var id: AppID
        package var peer: String
        package var closedAt: WallTime
        package var reason: CloseReason
    }

    package var link: Link
    package var apps: [App]
    package var departures: [Departure]
    package var limits: [RelayLimit: LimitHits]
    package var refusedConnections: UInt64
    /// Batches of frames that went past the observers unseen.
    package var missedBatches: Int
}

extension Switchboard {
    func snapshot(missedBatches: Int) -> RelaySnapshot {
        RelaySnapshot(
            link: .init(
                isUp: isLinkUp, counters: link.counters, garbageBytes: garbageBytes,
                recognised: link.recognised, openedCount: link.openedCount, make: link.make,
                model: link.model, protocolVersion: link.protocolVersion,
                openSessions: router.openSessions, farewellSessions: router.farewellSessions,
                waitingStarts: router.waitingStarts, isAwaitingAnswer: isAwaitingAnswer,
                queuedBytes: output.waitingBytes, bytesInFlight: output.bytesInFlight,
                drainRate: output.drainRate.map { Int(min($0, 1e15)) }, isHeld: isLinkHeld),
            apps: apps.values.sorted { $0.id < $1.id }.map(snapshot),
            departures: departures, limits: reporter.limits, refusedConnections: gate.refused,
            missedBatches: missedBatches)
    }

    private func snapshot(_ app: AppHandler) -> RelaySnapshot.App {
        RelaySnapshot.App(
            id: app.id, peer: app.peer, connectedAt: app.connectedAt,
            sessions: router.sessions(of: app), isStarting: router.isStarting(app),
            counters: app.counters,
            queuedBytes: app.queuedBytes, refusedFrames: app.refusedFrames,
            lastProblem: app.lastProblem, isPaused: app.isPaused)
    }
}
