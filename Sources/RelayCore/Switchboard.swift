// The hub on the event loop: carries out what `SessionRouter`, `LinkScheduler`, `LinkPacer` and
// `FlowControl` decide.
//
// Life of a frame, accessory → app: `receiveFromAccessory` asks the router, writes to the app's
// channel, shows the frame to the tap; `endRead` flushes once per app and hands the tap's batch on.
// App → accessory: `receive` asks the router, `forward` writes or queues, `drainLink` empties the
// queue (Switchboard+LinkOutput). All of it runs on the one event loop of the link and its apps.

import Logging
import NIOCore
import SDLProtocol

/// Connects one link with its apps. Everything here is called on `loop`.
final class Switchboard {
    let loop: any EventLoop
    private(set) var configuration: RelayConfiguration
    /// The moment of the current read.
    var now: NIODeadline
    var time = WallTime.now()
    var link: LinkStatus
    var apps: [AppID: AppHandler] = [:]
    var departures: [Departure] = []
    var limits: [RelayLimit: LimitHits] = [:]
    var refusedConnections: UInt64 = 0
    var admission: AppAdmission
    /// Connections that are apps, from accept to the end of their sockets.
    var admittedConnections = 0
    /// Connections that are being refused in words.
    var surplusConnections = 0
    /// What may be said how often about those who run into a limit.
    var lines: [RelayLimit: LineLimiter] = [:]
    let spares = SpareDescriptors()

    var router: SessionRouter<AppHandler>
    var scheduler = LinkScheduler<AppHandler>()
    private(set) var flow: FlowControl<AppHandler>
    let tap: FrameTap
    let logger: Logger
    private(set) var accessoryAddress: String
    var linkHandler: LinkHandler?
    var unflushed: [AppHandler] = []
    var isLinkUnflushed = false
    var isDraining = false
    var pacer = LinkPacer()
    /// The kernel has not taken all that was flushed; the channel tells when it has.
    var isLinkFull = false
    var linkLook: Scheduled<Void>?
    var linkWatch: Scheduled<Void>?
    /// Frames written to the link when it was last found stalled.
    var writtenWhenStalled: UInt64?
    var lastAppID: UInt64 = 0
    var wakeUp: (at: NIODeadline, task: Scheduled<Void>)?
    var whenGoodbyesAreSaid: [() -> Void] = []
    /// Sessions of which the router wants to know when none of their frames waits any more.
    var draining = SessionSet()
    private var isPerforming = false
    /// Frames written to the link, per session, because the head unit counts per session.
    var rates = SessionRates()
    /// Sessions that have sent all they may for now, and the moment they are looked at again.
    var heldSessions = SessionSet()
    var holdEnd: Scheduled<Void>?
    var isShuttingDown = false
    /// Told of a limit when it is hit for the first time and then at every power of two.
    var onLimit: (@Sendable (RelayLimit, LimitHits) -> Void)?

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
    static let departureCount = 8

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
        flow = FlowControl(
            grace: configuration.stallGrace, queueLimit: configuration.appQueueBytes,
            whenSlow: configuration.whenSlow)
        admission = AppAdmission(configuration: configuration)
        tap = FrameTap(queue: tapQueue, loop: loop)
        link = LinkStatus()
    }

    /// Applies from here on. What an app or the link got when it was connected stays: its frame
    /// rate, and the largest frame.
    func reconfigure(_ configuration: RelayConfiguration, accessoryAddress: String) {
        self.configuration = configuration
        if accessoryAddress != self.accessoryAddress {
            // Another head unit has a name of its own.
            (link.make, link.model) = (nil, nil)
        }
        self.accessoryAddress = accessoryAddress
        router.configuration = configuration
        flow.reconfigure(
            grace: configuration.stallGrace, queueLimit: configuration.appQueueBytes,
            whenSlow: configuration.whenSlow)
        admission.reconfigure(configuration)
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
        // What has just come may be more important, or small enough for the room there is.
        if scheduler.hasReady, !isLinkFull { drainLink(mayLook: false) }
        tap.endRead()
        scheduleWakeUp()
        goodbyesMayBeSaid()
    }

    func flushAll() {
        flushLink()
        guard !unflushed.isEmpty else { return }
        // By index, because closing an app may add to the list; a copy would cost an allocation.
        var index = 0
        while index < unflushed.count {
            let app = unflushed[index]
            index += 1
            guard app.needsFlush else { continue }
            app.needsFlush = false
            app.flush()
            if app.isBlocked { appBlocked(app) }
        }
        unflushed.removeAll(keepingCapacity: true)
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
        case .handled:
            for case .amended(_, let app) in router.actions {
                tap.record(frame, .fromAccessory, app: app.id, time: time, fate: .replaced)
            }
        case .toLink: break
        }
        if !router.actions.isEmpty { performActions() }
        if frame.type == .control { sessionsMayHaveChanged() }
    }

    @inline(__always)
    func send(_ frame: Frame, to app: AppHandler) {
        app.send(frame)
        if !app.needsFlush {
            app.needsFlush = true
            unflushed.append(app)
        }
    }

    func sessionsMayHaveChanged() {
        linkHandler?.expect(sessions: router.knownSessions)
        goodbyesMayBeSaid()
    }

    /// A goodbye may also be over because its last word has been written.
    func goodbyesMayBeSaid() {
        guard !whenGoodbyesAreSaid.isEmpty, hasSaidAllGoodbyes else { return }
        let waiting = whenGoodbyesAreSaid
        whenGoodbyesAreSaid = []
        for action in waiting { action() }
    }

    /// The head unit has confirmed that the sessions are over, and the apps have hung up.
    var hasSaidAllGoodbyes: Bool {
        (linkHandler == nil || router.hasSaidAllGoodbyes) && admittedConnections == 0
    }

    // MARK: - App → accessory

    func receive(_ frame: Frame, from app: AppHandler) {
        switch router.receive(frame, from: app, at: now) {
        case .toLink:
            tap.record(frame, .fromApp, app: app.id, time: time)
            forward(frame, from: .app(app))
        case .drop(let reason):
            tap.record(frame, .fromApp, app: app.id, time: time, fate: .dropped(reason))
            refused(frame, of: app, because: reason)
        case .toApp, .handled:
            tap.record(frame, .fromApp, app: app.id, time: time)
        }
        if !router.actions.isEmpty { performActions() }
    }

    func refused(_ frame: Frame, of app: AppHandler, because reason: DropReason) {
        app.refusedFrames += 1
        app.latestRefusal = reason
        if reason == .queueFull { hit(.pendingStarts) }
        // Once, and then at every power of two: a program error repeats itself.
        guard app.refusedFrames & (app.refusedFrames - 1) == 0 else { return }
        logger.warning(
            "frame refused: \(reason)",
            metadata: [
                "app": "\(app.id)", "frame": "\(frame)", "refused": "\(app.refusedFrames)",
            ])
    }

    // MARK: - What the router wants besides

    /// Carries out what the router wants, and what it wants because of that, in order.
    func performActions() {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !router.actions.isEmpty {
            for action in router.takeActions() { perform(action) }
        }
    }

    private func perform(_ action: SessionRouter<AppHandler>.Action) {
        switch action {
        case .toLink(let frame, let origin):
            if origin.isRelay {
                tap.record(frame, .fromApp, app: nil, time: time, fate: .byRelay)
            }
            forward(frame, from: origin)
        case .amended(let frame, let app):
            tap.record(frame, .fromAccessory, app: app.id, time: time, fate: .amended)
            send(frame, to: app)
        case .toApp(let frame, let app):
            tap.record(frame, .fromAccessory, app: app.id, time: time, fate: .byRelay)
            send(frame, to: app)
        case .close(let app, let reason):
            close(app, reason)
        case .drain(let session):
            drain(session)
        case .purge(let session):
            purge(session)
        case .event(let event):
            report(event)
        }
    }

    func close(_ app: AppHandler, _ reason: CloseReason) {
        app.lastProblem = "\(reason)"
        app.close(reason)
    }

    /// - Parameter moment: When it happened; without, the time of the current read.
    func hit(_ limit: RelayLimit, at moment: WallTime? = nil) {
        var hits = limits[limit] ?? LimitHits()
        hits.hit(at: moment ?? time)
        limits[limit] = hits
        if hits.count & (hits.count - 1) == 0 { onLimit?(limit, hits) }
    }

    // MARK: - Time

    /// One timer for everything that has a deadline; none when nothing has.
    func scheduleWakeUp() {
        guard let next = Self.earlier(router.nextDeadline, flow.nextDeadline) else {
            wakeUp?.task.cancel()
            wakeUp = nil
            return
        }
        if let wakeUp, wakeUp.at <= next { return }
        wakeUp?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: next) { self.wokenUp() }
        wakeUp = (next, task)
    }

    private static func earlier(_ left: NIODeadline?, _ right: NIODeadline?) -> NIODeadline? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    func wokenUp() {
        wakeUp = nil
        beginRead()
        router.advance(to: now)
        performActions()
        sessionsMayHaveChanged()
        let late = changeFlow {
            $0.isLinkHeld ? $0.advance(to: now, isAlone: isOneApp, look: { $0.sight }) : []
        }
        for (app, verdict) in late { drop(app, verdict) }
        endRead()
    }

    /// Whatever changes flow control goes through here, so that a link which need not wait any more
    /// is read again and a hold has its deadline.
    func changeFlow<Result>(_ change: (inout FlowControl<AppHandler>) -> Result) -> Result {
        let result = change(&flow)
        if !flow.isLinkHeld { linkHandler?.resumeReading() }
        scheduleWakeUp()
        return result
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
}
