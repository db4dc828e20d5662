// The hub on the event loop: carries out what `SessionRouter`, `LinkScheduler` and `FlowControl`
// decide.
//
// Life of a frame, accessory → app: `receiveFromAccessory` asks the router, writes to the app's
// channel, shows the frame to the tap; `endRead` flushes once per app and hands the tap's batch on.
// App → accessory: `receive` asks the router, `forward` writes or queues, `linkDrained` empties the
// queue. All of it runs on the one event loop of the link and its apps.

import Logging
import NIOCore
import SDLProtocol

/// Connects one link with its apps. Everything here is called on `loop`.
final class Switchboard {
    let loop: any EventLoop
    let configuration: RelayConfiguration
    /// The moment of the current read.
    private(set) var now: NIODeadline
    private(set) var time = WallTime.now()
    private(set) var link: LinkStatus
    private(set) var apps: [AppID: AppHandler] = [:]
    private(set) var departures: [Departure] = []
    private(set) var limits: [RelayLimit: LimitHits] = [:]
    private(set) var refusedConnections: UInt64 = 0

    private var router: SessionRouter<AppHandler>
    private var scheduler = LinkScheduler<AppHandler>()
    private var flow: FlowControl<AppHandler>
    private let tap: FrameTap
    private let logger: Logger
    private let accessoryAddress: String
    private var linkHandler: LinkHandler?
    private var unflushed: [AppHandler] = []
    private var isLinkUnflushed = false
    private var isDraining = false
    private var lastAppID: UInt64 = 0
    private var wakeUp: (at: NIODeadline, task: Scheduled<Void>)?
    private var whenGoodbyesAreSaid: [() -> Void] = []
    private var isShuttingDown = false

    /// What status shows of the link.
    struct LinkStatus {
        var counters = TrafficCounters()
        var garbageBytes: UInt64 = 0
        /// What the other side seems to speak if it is not SDL.
        var recognised: WrongProtocol?
        var openedCount = 0
        /// From the latest grant.
        var make: String?
        var model: String?
        var protocolVersion: String?
    }

    /// An app that was here, and why it is not any more.
    struct Departure {
        var id: AppID
        var peer: String
        var closedAt: WallTime
        var reason: CloseReason
    }

    /// Departures remembered for status.
    private static let departureCount = 8

    init(
        loop: any EventLoop, configuration: RelayConfiguration, accessoryAddress: String,
        tapQueue: TapQueue, logger: Logger
    ) {
        self.loop = loop
        now = loop.now
        self.accessoryAddress = accessoryAddress
        self.configuration = configuration
        self.logger = logger
        router = SessionRouter(configuration: configuration)
        flow = FlowControl(grace: configuration.stallGrace)
        tap = FrameTap(queue: tapQueue)
        link = LinkStatus()
    }

    // MARK: - Reads

    /// One look at the clocks for all frames of a read.
    func beginRead() {
        now = loop.now
        time = .now()
    }

    /// Everything the read caused is written: flush, then let the observers see it.
    func endRead() {
        flushAll()
        tap.emit()
        scheduleWakeUp()
    }

    private func flushAll() {
        if isLinkUnflushed {
            isLinkUnflushed = false
            linkHandler?.flush()
        }
        guard !unflushed.isEmpty else { return }
        let written = unflushed
        unflushed.removeAll(keepingCapacity: true)
        for app in written {
            app.needsFlush = false
            app.flush()
            if app.isBlocked { appBlocked(app) }
        }
    }

    // MARK: - Accessory → app

    func linkReceived(bytes: Int) {
        link.counters.bytesIn &+= UInt64(bytes)
    }

    func receiveFromAccessory(_ frame: Frame) {
        link.counters.framesIn &+= 1
        switch router.receiveFromAccessory(frame, at: now) {
        case .toApp(let app):
            tap.record(frame, .fromAccessory, app: app.id, time: time)
            send(frame, to: app)
        case .drop(let reason):
            tap.record(frame, .fromAccessory, app: nil, time: time, fate: .dropped(reason))
        case .toLink, .handled: break
        }
        if !router.actions.isEmpty { performActions() }
        if frame.type == .control { sessionsMayHaveChanged() }
    }

    @inline(__always)
    private func send(_ frame: Frame, to app: AppHandler) {
        app.send(frame)
        if !app.needsFlush {
            app.needsFlush = true
            unflushed.append(app)
        }
    }

    private func sessionsMayHaveChanged() {
        linkHandler?.expect(sessions: router.knownSessions)
        guard !whenGoodbyesAreSaid.isEmpty, router.hasSaidAllGoodbyes else { return }
        let waiting = whenGoodbyesAreSaid
        whenGoodbyesAreSaid = []
        for action in waiting { action() }
    }

    // MARK: - App → accessory

    func receive(_ frame: Frame, from app: AppHandler) {
        switch router.receive(frame, from: app, at: now) {
        case .toLink:
            tap.record(frame, .fromApp, app: app.id, time: time)
            forward(frame, from: app)
        case .drop(let reason):
            tap.record(frame, .fromApp, app: app.id, time: time, fate: .dropped(reason))
            refused(frame, of: app, because: reason)
        case .toApp, .handled:
            tap.record(frame, .fromApp, app: app.id, time: time)
        }
        if !router.actions.isEmpty { performActions() }
    }

    private func refused(_ frame: Frame, of app: AppHandler, because reason: DropReason) {
        app.refusedFrames += 1
        app.lastProblem = "frame refused: \(reason)"
        if reason == .queueFull { limits[.pendingStarts, default: LimitHits()].hit(at: time) }
        // Once, and then at every power of two: a program error repeats itself.
        guard app.refusedFrames & (app.refusedFrames - 1) == 0 else { return }
        logger.warning(
            "frame refused: \(reason)",
            metadata: [
                "app": "\(app.id)", "frame": "\(frame)", "refused": "\(app.refusedFrames)",
            ])
    }

    /// Writes to the link, or queues while it is busy.
    private func forward(_ frame: Frame, from app: AppHandler?) {
        guard let linkHandler else { return }
        if scheduler.isEmpty, linkHandler.isWritable {
            write(frame, to: linkHandler)
            return
        }
        scheduler.enqueue(frame, from: app, at: now)
        guard let app else { return }
        app.linkQueuedBytes += frame.wire.readableBytes
        if app.linkQueuedBytes >= configuration.linkQueueBytes {
            app.pause(.link)
            limits[.linkQueue, default: LimitHits()].hit(at: time)
        }
    }

    @inline(__always)
    private func write(_ frame: Frame, to linkHandler: LinkHandler) {
        link.counters.sent(frame.wire.readableBytes)
        linkHandler.write(frame)
        isLinkUnflushed = true
    }

    /// The link takes frames again: the scheduler says which.
    func linkDrained() {
        guard !isDraining, let linkHandler else { return }
        isDraining = true
        now = loop.now
        var resumable: [AppHandler] = []
        while linkHandler.isWritable, !scheduler.isEmpty {
            while linkHandler.isWritable, let entry = scheduler.next(at: now) {
                write(entry.frame, to: linkHandler)
                guard let app = entry.app else { continue }
                app.linkQueuedBytes -= entry.frame.wire.readableBytes
                if app.isPaused, app.linkQueuedBytes <= configuration.linkQueueBytes / 2 {
                    resumable.append(app)
                }
            }
            isLinkUnflushed = false
            linkHandler.flush()
        }
        isDraining = false
        for app in resumable { app.resume(.link) }
    }

    // MARK: - What the router wants besides

    private func performActions() {
        for action in router.takeActions() {
            switch action {
            case .toLink(let frame, let app):
                if app == nil {
                    tap.record(frame, .fromApp, app: nil, time: time, fate: .byRelay)
                }
                forward(frame, from: app)
            case .amended(let frame, let app):
                tap.record(frame, .fromAccessory, app: app.id, time: time, fate: .amended)
                send(frame, to: app)
            case .toApp(let frame, let app):
                tap.record(frame, .fromAccessory, app: app.id, time: time, fate: .byRelay)
                send(frame, to: app)
            case .close(let app, let reason):
                close(app, reason)
            case .event(let event):
                report(event)
            }
        }
    }

    private func close(_ app: AppHandler, _ reason: CloseReason) {
        app.lastProblem = "\(reason)"
        app.close(reason)
    }

    // MARK: - Time

    /// One timer for everything that has a deadline; none when nothing has.
    private func scheduleWakeUp() {
        let deadlines = [router.nextDeadline, flow.nextDeadline].compactMap { $0 }
        guard let next = deadlines.min() else {
            wakeUp?.task.cancel()
            wakeUp = nil
            return
        }
        if let wakeUp, wakeUp.at <= next { return }
        wakeUp?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: next) { self.wokenUp() }
        wakeUp = (next, task)
    }

    private func wokenUp() {
        wakeUp = nil
        beginRead()
        router.advance(to: now)
        performActions()
        let wasHeld = flow.isLinkHeld
        flow.advance(to: now) { app in
            let queued = app.queuedBytes
            defer { app.queuedBytesSeen = queued }
            return apps.count == 1 && queued < app.queuedBytesSeen
        }
        endRead()
        if wasHeld, !flow.isLinkHeld { linkHandler?.resumeReading() }
    }

    // MARK: - Slow apps

    var isLinkHeld: Bool { flow.isLinkHeld }

    private func appBlocked(_ app: AppHandler) {
        let queued = app.queuedBytes
        guard queued <= configuration.appQueueBytes else {
            limits[.appQueue, default: LimitHits()].hit(at: time)
            return close(app, .tooSlow(queuedBytes: queued))
        }
        app.queuedBytesSeen = max(app.queuedBytesSeen, queued)
        flow.blocked(app, at: now)
    }

    func appDrained(_ app: AppHandler) {
        app.queuedBytesSeen = 0
        flow.drained(app)
        if !flow.isLinkHeld { linkHandler?.resumeReading() }
    }

    /// The app sends faster than a head unit stands; it goes on at `deadline`.
    func paced(_ app: AppHandler, until deadline: NIODeadline) {
        if limits[.framesPerSecond] == nil || app.lastProblem == nil {
            logger.warning(
                """
                app is paced to \(configuration.framesPerSecond) frames/s: head units end a \
                session at 1000 (apps.frames_per_second)
                """, metadata: ["app": "\(app.id)"])
        }
        app.lastProblem = "paced to \(configuration.framesPerSecond) frames/s"
        limits[.framesPerSecond, default: LimitHits()].hit(at: time)
        loop.assumeIsolated().scheduleTask(deadline: deadline) { app.resume(.rate) }
    }

    // MARK: - Apps come and go

    func accept(_ channel: any Channel) throws {
        guard apps.count < configuration.maximumApps, !isShuttingDown else {
            refusedConnections += 1
            limits[.maximumApps, default: LimitHits()].hit(at: .now())
            logger.warning(
                """
                connection refused: \(configuration.maximumApps) apps are connected already \
                (apps.maximum)
                """, metadata: ["peer": "\(Self.peerName(channel))"])
            channel.close(promise: nil)
            return
        }
        lastAppID += 1
        let app = AppHandler(
            id: AppID(rawValue: lastAppID), peer: Self.peerName(channel), connectedAt: .now(),
            switchboard: self)
        try channel.pipeline.syncOperations.addHandler(app)
    }

    private static func peerName(_ channel: any Channel) -> String {
        guard let address = channel.remoteAddress, let port = address.port else { return "local" }
        let host = address.ipAddress ?? "?"
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    func appConnected(_ app: AppHandler) {
        apps[app.id] = app
        router.connect(app)
        tap.record(.appConnected(app.id, peer: app.peer, time: .now()))
        logger.debug("app connected", metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
    }

    func appDisconnected(_ app: AppHandler, reason: CloseReason) {
        beginRead()
        guard apps.removeValue(forKey: app.id) != nil else { return }
        router.disconnect(app, at: now)
        flow.drained(app)
        performActions()
        endRead()
        tap.record(.appClosed(app.id, reason: "\(reason)", time: time))
        departures.append(
            Departure(id: app.id, peer: app.peer, closedAt: time, reason: reason))
        if departures.count > Self.departureCount { departures.removeFirst() }
        let level: Logger.Level = reason == .byApp || reason == .shutdown ? .debug : .warning
        logger.log(
            level: level, "app closed: \(reason)\(reason.excerpt)",
            metadata: ["app": "\(app.id)", "peer": "\(app.peer)"])
        if !flow.isLinkHeld { linkHandler?.resumeReading() }
        sessionsMayHaveChanged()
    }

    /// Bytes from an app that are no frame: that app alone is closed.
    func garbage(_ error: FrameError, at offset: UInt64, bytes: ByteBuffer, from app: AppHandler) {
        let length = min(bytes.readableBytes, 64)
        let excerpt = bytes.getSlice(at: bytes.readerIndex, length: length) ?? ByteBuffer()
        let garbage = CloseReason.GarbageFromApp(
            offset: offset, error: error, excerpt: excerpt,
            recognised: WrongProtocol(firstBytes: bytes))
        close(app, .garbage(garbage))
    }

    // MARK: - The link comes and goes

    func linkOpened(_ handler: LinkHandler) {
        guard linkHandler !== handler else { return }
        beginRead()
        linkHandler = handler
        link.openedCount += 1
        link.recognised = nil
        tap.record(.linkOpened(address: accessoryAddress, time: time))
        router.linkOpened(at: now)
        performActions()
        endRead()
    }

    func linkClosed(_ handler: LinkHandler, reason: String) {
        guard linkHandler === handler else { return }
        beginRead()
        linkHandler = nil
        link.garbageBytes += handler.garbageBytes
        for entry in scheduler.removeAll() {
            entry.app?.linkQueuedBytes = 0
        }
        router.linkClosed(reason: reason, at: now)
        performActions()
        for app in apps.values { app.resume(.link) }
        endRead()
        tap.record(.linkClosed(reason: reason, time: time))
        sessionsMayHaveChanged()
    }

    func reopenLink(reason: String) {
        linkHandler?.close(reason)
    }

    func garbage(_ report: GarbageReport) {
        if let recognised = WrongProtocol(firstBytes: report.excerpt) {
            link.recognised = recognised
        }
        logger.warning(
            """
            \(report.bytes) bytes from the head unit were no SDL frames\
            \(report.isOver ? "" : " so far") (from byte \(report.offset) on: \(report.error))\
            \(link.recognised.map { "; " + $0.adviceOnLink } ?? ""); bytes \(report.excerpt.hexExcerpt())
            """)
    }

    /// A peer stopped in the middle of a frame; `app` is nil for the head unit.
    func stalled(_ position: StallWatch.Position, app: AppHandler?) {
        let problem =
            "stopped in the middle of a frame \(configuration.stallTimeout.seconds) s ago: "
            + "\(position.bytes) bytes since byte \(position.offset)"
        app?.lastProblem = problem
        if let app {
            logger.warning("the app \(problem)", metadata: ["app": "\(app.id)"])
        } else {
            logger.warning("the head unit \(problem)")
        }
    }

    // MARK: - Stopping

    /// Ends all sessions and closes the apps; `done` is called when the head unit has confirmed.
    func shutDown(done: @escaping () -> Void) {
        isShuttingDown = true
        beginRead()
        router.endAllSessions()
        performActions()
        endRead()
        for app in apps.values { close(app, .shutdown) }
        guard linkHandler != nil, !router.hasSaidAllGoodbyes else { return done() }
        whenGoodbyesAreSaid.append(done)
    }
}

// MARK: - For the log and status

extension Switchboard {
    var garbageBytes: UInt64 { link.garbageBytes + (linkHandler?.garbageBytes ?? 0) }
    var isLinkUp: Bool { linkHandler != nil }
    var openSessions: Int { router.openSessions }
    var farewellSessions: Int { router.farewellSessions }
    var waitingStarts: Int { router.waitingStarts }
    var isAwaitingAnswer: Bool { router.isAwaitingAnswer }
    var linkQueuedBytes: Int { scheduler.waitingBytes }

    func sessions(of app: AppHandler) -> [SessionGrant] { router.sessions(of: app) }
    func isStarting(_ app: AppHandler) -> Bool { router.isStarting(app) }

    private func report(_ event: RouterEvent<AppHandler>) {
        switch event {
        case .sessionOpened(let app, let grant):
            if let mtu = grant.mtu, mtu > 0, mtu <= Self.largestBelievableMTU {
                app.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
                linkHandler?.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
            }
            link.make = grant.make ?? link.make
            link.model = grant.model ?? link.model
            link.protocolVersion = grant.fullVersion ?? "\(grant.version)"
            logger.debug(
                "session opened",
                metadata: ["app": "\(app.id)", "session": "\(grant.sessionID)"])
        case .farewell(let session):
            logger.debug("goodbye said for an app that left", metadata: ["session": "\(session)"])
        case .sessionReassigned(let app, let session):
            logger.warning(
                "the head unit gave session \(session) to another app without ending it",
                metadata: ["app": "\(app.id)"])
        case .startServiceUnanswered(let app):
            app.lastProblem = "the head unit did not answer StartService"
            logger.warning(
                """
                the head unit did not answer StartService for \
                \(configuration.startServiceTimeout.seconds) s (sessions.start_service_timeout)
                """, metadata: ["app": "\(app.id)"])
        case .wrongHash(let app, let session, let sent):
            logger.warning(
                sent == 0
                    ? "EndService without the hash ID of its session; the head unit may refuse it"
                    : "EndService with a hash ID the head unit did not give",
                metadata: ["app": "\(app.id)", "session": "\(session)"])
        case .secondaryTransportOffered(let session, let isPassedOn):
            logger.log(
                level: isPassedOn ? .warning : .notice,
                """
                the head unit offers a secondary transport, which bypasses relayd: \
                \(isPassedOn ? "passed on" : "taken out") (sessions.secondary_transports)
                """, metadata: ["session": "\(session)"])
        }
    }

    /// Head units announce at most a few hundred KiB; more is an error of theirs.
    private static let largestBelievableMTU: Int64 = 4 << 20
    /// Whether an MTU counts the header is not agreed; one header and a little more is allowed.
    private static let payloadSlack = 28
}
