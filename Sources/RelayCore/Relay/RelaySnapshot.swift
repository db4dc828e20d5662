package import SDLProtocol

/// What the hub looks like at one moment; made on the event loop, read by the control API.
package struct RelaySnapshot: Sendable {
    package struct Link: Sendable {
        package var isUp: Bool
        package var counters: TrafficCounters
        /// Bytes dropped because they were not frames.
        package var garbageBytes: UInt64 = 0
        /// What the other side seems to speak if it is not SDL.
        package var recognised: WrongProtocol?
        /// How often the link has been opened.
        package var openedCount: Int
        package var make: String?
        package var model: String?
        package var protocolVersion: String?
        package var openSessions = 0
        /// Sessions whose goodbye the head unit has not confirmed.
        package var farewellSessions = 0
        package var waitingStarts = 0
        package var isAwaitingAnswer = false
        /// Bytes waiting for the link.
        package var queuedBytes = 0
        /// Bytes written that have not left this computer, as far as the kernel can tell.
        package var bytesInFlight = 0
        /// How fast the link takes bytes, per second; nil until frames had to wait for it.
        package var drainRate: Int?
        /// Whether the link is not read at the moment, because an app or a sink of the tap cannot keep up.
        package var isHeld: Bool
        /// Nil when the accessory is no head unit.
        package var faults: FaultsSnapshot?
    }

    package struct App: Sendable {
        package var id: AppID
        package var peer: String
        package var connectedAt: WallTime
        package var sessions: [SessionGrant] = []
        /// Whether the app waits for an answer to StartService.
        package var isStarting = false
        package var counters: TrafficCounters
        /// Bytes waiting for this app.
        package var queuedBytes: Int
        package var refusedFrames: UInt64
        /// Units that the app missed because it did not read; nil where none are left out for that.
        package var lostFrames: UInt64?
        package var lastProblem: String?
        package var isPaused: Bool
    }

    /// An app that has left, and why.
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
    /// Batches of frames that the observers missed.
    package var missedBatches: Int
}

extension Switchboard {
    func snapshot(missedBatches: Int) -> RelaySnapshot {
        var link = RelaySnapshot.Link(
            isUp: isLinkUp, counters: link.counters, recognised: link.recognised,
            openedCount: link.openedCount, make: link.make, model: link.model,
            protocolVersion: link.protocolVersion, isHeld: isLinkHeld)
        language.describe(&link)
        return RelaySnapshot(
            link: link, apps: apps.values.sorted { $0.id < $1.id }.map(snapshot),
            departures: departures, limits: reporter.limits, refusedConnections: gate.refused,
            missedBatches: missedBatches)
    }

    private func snapshot(_ connection: AppConnection) -> RelaySnapshot.App {
        var app = RelaySnapshot.App(
            id: connection.id, peer: connection.peer, connectedAt: connection.connectedAt,
            counters: connection.counters, queuedBytes: connection.queuedBytes,
            refusedFrames: connection.refusals, lastProblem: connection.lastProblem,
            isPaused: connection.isPaused)
        language.describe(&app)
        return app
    }
}
