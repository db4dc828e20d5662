import ControlAPI
import DecodedTraces
import Glibc
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic
import Synchronization

/// Builds a `StatusSnapshot` on request: the hub's counts, the link's state, the observers' facts.
final class StatusReporter: Sendable {
    private let relay: Relay
    private let accessory: AccessoryMonitor
    private let facts: SessionFacts
    private let advisor: TrafficAdvisor
    private let outputs: LogOutputs
    private let effective: Mutex<EffectiveConfig>
    private let specification: SpecificationReport?
    private let overflow: ControlOverflow
    private let diskStall: @Sendable () -> DiskStall?
    private let recordingProblem: @Sendable () -> String?
    private let media: @Sendable () -> MediaStatus?
    private let startedAt = Timestamp.now
    private let started = ContinuousClock.now
    private let refusedConfiguration = Mutex<String?>(nil)
    private let dashboard = Mutex<String?>(nil)
    private let server = Mutex(ServerCondition.listening([], isInherited: false))

    init(
        relay: Relay, accessory: AccessoryMonitor, facts: SessionFacts, advisor: TrafficAdvisor,
        outputs: LogOutputs, effective: EffectiveConfig, specification: SpecificationReport?,
        overflow: ControlOverflow, diskStall: @escaping @Sendable () -> DiskStall? = { nil },
        recordingProblem: @escaping @Sendable () -> String? = { nil },
        media: @escaping @Sendable () -> MediaStatus? = { nil }
    ) {
        self.advisor = advisor
        self.relay = relay
        self.accessory = accessory
        self.facts = facts
        self.outputs = outputs
        self.effective = Mutex(effective)
        self.specification = specification
        self.overflow = overflow
        self.diskStall = diskStall
        self.recordingProblem = recordingProblem
        self.media = media
    }

    func changed(to condition: ServerCondition) {
        server.withLock { $0 = condition }
    }

    func reconfigure(_ effective: EffectiveConfig) {
        self.effective.withLock { $0 = effective }
    }

    /// How long the head unit has to confirm the end of its sessions.
    var farewellTimeout: Duration {
        Duration(effective.withLock { $0.config.hub.farewellTimeout })
    }

    /// Sets why the latest reload was refused; nil once one is accepted.
    func refused(_ reason: String?) {
        refusedConfiguration.withLock { $0 = reason }
    }

    /// Sets the URL of the dashboard; nil if it is not served.
    func serves(dashboard url: String?) {
        dashboard.withLock { $0 = url }
    }

    /// Every option in force, and the origin of its value.
    var configuration: ConfigReport {
        var report = effective.withLock { $0 }.report
        report.specification = specification
        return report
    }

    func snapshot() async throws -> StatusSnapshot {
        let earlier = accessory.current
        let hub = try await relay.snapshot()
        let state = AccessoryMonitor.state(isUp: hub.link.isUp, earlier, accessory.current)
        let known = facts.facts()
        let uptime = Int(started.duration(to: .now).components.seconds)
        var snapshot = StatusSnapshot(
            relayd: RelaydStatus(
                pid: Int(getpid()), startedAt: startedAt, uptimeSeconds: uptime,
                unit: SystemdUnit.ofThisProcess?.name,
                refusedConfiguration: refusedConfiguration.withLock { $0 },
                dashboardURL: dashboard.withLock { $0 }),
            accessory: accessoryStatus(state, hub.link),
            link: linkStatus(hub),
            server: serverStatus(hub),
            apps: hub.apps.map { app in appStatus(app, known[app.id], hub.link) },
            recentDepartures: hub.departures.reversed().map { departure in
                let known = facts.departed(departure.id)
                return AppDeparture(
                    id: Int(departure.id.rawValue), peer: departure.peer, appName: known?.name,
                    closedAt: Timestamp(departure.closedAt),
                    reason: departure.reason.words(of: accessory.language.spoken.client),
                    lastProblem: known?.lastFailure)
            },
            log: LogStatus(
                droppedBatches: hub.missedBatches, droppedLines: outputs.missedLines),
            limitsHit: limits(hub) + overflow.hits)
        snapshot.diskStall = diskStall()
        snapshot.recordingProblem = recordingProblem()
        snapshot.media = media()
        snapshot.faults = FaultStatus(hub.link.faults)
        return snapshot
    }

    private func accessoryStatus(
        _ now: AccessoryMonitor.Current, _ link: RelaySnapshot.Link
    ) -> AccessoryStatus {
        let headUnit = facts.headUnit(onLink: link.isUp ? link.openedCount : nil)
        let name = [headUnit.make ?? link.make, headUnit.model ?? link.model]
            .compactMap { $0 }.joined(separator: " ")
        var status = AccessoryStatus(
            kind: accessory.kind, address: accessory.address, state: now.state, since: now.since,
            reason: now.reason, attempts: now.attempts, openedCount: link.openedCount,
            name: name.isEmpty ? nil : name, framesIn: Int(link.counters.framesIn),
            bytesIn: Int(link.counters.bytesIn), framesOut: Int(link.counters.framesOut),
            bytesOut: Int(link.counters.bytesOut), garbageBytes: Int(link.garbageBytes),
            hint: link.recognised?.adviceOnLink)
        status.protocol = accessory.language.spoken
        status.garbageAt = headUnit.garbageAt.map { Timestamp($0) }
        if now.state == .open, let off = headUnit.saidOff {
            (status.saidOff, status.saidOffAt) = (off.reason, Timestamp(off.time))
        }
        (status.device, status.lostBytesIn, status.lostBytesOut, status.lostAt) = accessory.details
        status.hanging = accessory.hanging
        return status
    }

    private func linkStatus(_ hub: RelaySnapshot) -> LinkStatus {
        let link = hub.link
        let state: LinkState =
            if !link.isUp {
                .noAccessory
            } else if link.openSessions + link.farewellSessions > 0 {
                .sessions
            } else if link.isAwaitingAnswer {
                .startingSession
            } else {
                .idle
            }
        var status = LinkStatus(
            state: state, sessions: link.openSessions + link.farewellSessions,
            sessionsInFarewell: link.farewellSessions, startServiceQueue: link.waitingStarts,
            protocolVersion: link.isUp ? link.protocolVersion : nil,
            paused: hub.apps.contains(where: \.isPaused), queueBytes: link.queuedBytes)
        status.drainBytesPerSecond = link.drainRate
        status.bytesInFlight = link.isUp ? link.bytesInFlight : nil
        return status
    }

    private func serverStatus(_ hub: RelaySnapshot) -> ServerStatus {
        let condition = server.withLock { $0 }
        let (state, addresses, terminals, reason):
            (ServerState, [ListenAddress], [String], String?) =
                switch condition {
                case .listening(let addresses, let terminals, _):
                    (.listening, addresses, terminals, nil)
                case .off: (.off, [], [], "switched off; relayctl server on switches it on")
                case .failed(let reason): (.failed, [], [], reason)
                }
        return ServerStatus(
            state: state,
            endpoints: ReachableAddresses.ofThisMachine.of(addresses).map(\.description)
                + terminals,
            connections: hub.apps.count, refusedCount: Int(hub.refusedConnections), reason: reason,
            inherited: condition.isInherited ? true : nil)
    }

    private func appStatus(
        _ app: RelaySnapshot.App, _ known: AppFacts?, _ link: RelaySnapshot.Link
    ) -> AppStatus {
        let version =
            known?.protocolVersion
            ?? app.sessions.first.map {
                $0.fullVersion ?? "\($0.version)"
            }
        var status = AppStatus(
            id: Int(app.id.rawValue), peer: app.peer, connectedAt: Timestamp(app.connectedAt),
            state: state(of: app, known, link), appName: known?.name, appID: known?.appID,
            sessions: app.sessions.map { Int($0.sessionID) },
            protocolVersion: version, hmiLevel: known?.hmiLevel?.rawValue,
            framesFromApp: Int(app.counters.framesIn), bytesFromApp: Int(app.counters.bytesIn),
            framesToApp: Int(app.counters.framesOut), bytesToApp: Int(app.counters.bytesOut),
            queueBytes: app.queuedBytes, refusedFrames: Int(app.refusedFrames),
            lastProblem: app.lastProblem ?? known?.lastFailure,
            advice: advisor.advice(about: app.id).reversed().map(AdviceReport.init)
                .first { $0.isCurrentWarning(at: .now) })
        status.lostFrames = app.lostFrames.map { Int(clamping: $0) }
        return status
    }

    private func state(
        of app: RelaySnapshot.App, _ known: AppFacts?, _ link: RelaySnapshot.Link
    ) -> AppState {
        if !app.sessions.isEmpty {
            return known?.isRegistered == true ? .registered : .sessionOpen
        }
        if app.isStarting { return link.isUp ? .startingSession : .waitingForHeadUnit }
        return .connected
    }

    private func limits(_ hub: RelaySnapshot) -> [ControlAPI.LimitHit] {
        let config = effective.withLock { $0.config }
        return RelayLimit.allCases.compactMap { limit in
            guard let hits = hub.limits[limit], hits.count > 0, let last = hits.lastAt else {
                return nil
            }
            return LimitHit(
                name: limit.rawValue, limit: Self.value(of: limit, config), count: Int(hits.count),
                lastAt: Timestamp(last), beganAt: hits.beganAt.map { Timestamp($0) })
        }
    }

    private static func value(of limit: RelayLimit, _ config: Config) -> Int {
        switch limit {
        case .maximumApps: config.hub.maximumApps
        case .allow: config.hub.allowedNetworks.count
        case .connectionsPerSecond: config.hub.connectionsPerSecond
        case .silentTimeout: Int(config.hub.silentTimeout.nanoseconds / 1_000_000_000)
        case .stallGrace: Int(config.hub.stallGrace.nanoseconds / 1_000_000)
        case .sessions: RelayLimit.sessionsOfALink
        case .descriptors: OpenFiles.limit
        case .appQueue: config.hub.appQueueBytes
        case .framesPerSecond: config.hub.framesPerSecond
        case .messageBytes: config.hub.messageBytes
        case .linkQueue: config.hub.linkQueueBytes
        case .tapQueue: config.hub.tapQueueBytes
        case .pendingStarts: RelayConfiguration().maximumPendingStartsPerApp
        }
    }
}
