// The hub on the event loop: carries out what `SessionRouter` decides.
//
// Life of a frame, accessory → app: `receiveFromAccessory` asks the router, writes to the app's
// channel, shows the frame to the tap; `endRead` flushes once per app and hands the tap's batch on.
// App → accessory: `receive` asks the router, `LinkOutput` writes or queues. All of it runs on the one
// event loop of the link and its apps.

import Logging
import NIOCore
import SDLProtocol

/// Connects one link with its apps. Everything here is called on `loop`.
final class Switchboard {
    let loop: any EventLoop
    private(set) var configuration: RelayConfiguration
    /// The moment of the current read.
    var now: NIODeadline
    private(set) var time = WallTime.now()
    let tap: FrameTap
    let reporter: HubReporter
    /// Which frame may go to the head unit now.
    private(set) lazy var output = LinkOutput(
        hub: self, configuration: configuration, logger: logger)
    /// Who may connect.
    private(set) lazy var gate = AppGate(hub: self, configuration: configuration, logger: logger)
    private let appOutput = AppOutput()
    /// Whether the link has to wait for an app that reads too slowly.
    private lazy var backPressure = BackPressure(hub: self, configuration: configuration)
    var router: SessionRouter<AppHandler>
    private let logger: Logger

    private(set) var accessoryAddress: String
    private var linkHandler: LinkHandler?
    var link = LinkRecord()
    private(set) var apps: [AppID: AppHandler] = [:]
    private(set) var departures: [RelaySnapshot.Departure] = []
    var wakeUp: (at: NIODeadline, task: Scheduled<Void>)?
    private var isPerforming = false
    private var whenGoodbyesAreSaid: [() -> Void] = []

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
        tap = FrameTap(queue: tapQueue, loop: loop)
        reporter = HubReporter(tap: tap, configuration: configuration, logger: logger)
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
        backPressure.reconfigure(configuration)
        reporter.reconfigure(configuration)
        output.reconfigure(configuration)
        gate.reconfigure(configuration)
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
        output.drainIfReady()
        tap.endRead()
        scheduleWakeUp()
        goodbyesMayBeSaid()
    }

    private func flushAll() {
        output.flush()
        appOutput.flush { backPressure.blocked($0) }
    }

    // MARK: - Accessory → app

    func linkReceived(bytes: Int) {
        link.counters.bytesIn &+= UInt64(bytes)
    }

    func receiveFromAccessory(_ frame: Frame) {
        link.counters.framesIn &+= 1
        switch router.receiveFromAccessory(frame, at: now) {
        case .toApp(let app):
            tap.record(
                frame, .fromAccessory, app: app.id, time: time, grant: meaning(of: frame))
            appOutput.send(frame, to: app)
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

    /// What the router took the frame for, if it is a grant.
    @inline(__always)
    private func meaning(of frame: Frame) -> GrantMeaning? {
        guard frame.controlType == .startServiceACK, frame.service == .rpc else { return nil }
        return router.grantMeaning
    }

    func sessionsMayHaveChanged() {
        linkHandler?.expect(sessions: router.knownSessions)
        goodbyesMayBeSaid()
    }

    /// A goodbye may also be over because its last word has been written.
    private func goodbyesMayBeSaid() {
        guard !whenGoodbyesAreSaid.isEmpty, hasSaidAllGoodbyes else { return }
        let waiting = whenGoodbyesAreSaid
        whenGoodbyesAreSaid = []
        for action in waiting { action() }
    }

    /// The head unit has confirmed that the sessions are over, and the apps have hung up.
    private var hasSaidAllGoodbyes: Bool {
        (linkHandler == nil || router.hasSaidAllGoodbyes) && gate.isEmpty
    }

    // MARK: - App → accessory

    func receive(_ frame: Frame, from app: AppHandler) {
        switch router.receive(frame, from: app, at: now) {
        case .toLink:
            tap.record(frame, .fromApp, app: app.id, time: time)
            output.forward(frame, from: .app(app))
        case .drop(let reason):
            tap.record(frame, .fromApp, app: app.id, time: time, fate: .dropped(reason))
            reporter.refused(frame, of: app, because: reason, at: time)
        case .toApp, .handled:
            tap.record(frame, .fromApp, app: app.id, time: time)
        }
        if !router.actions.isEmpty { performActions() }
    }

    // MARK: - What the router wants besides

    /// Carries out what the router wants, and what it wants because of that, in order.
    private func performActions() {
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
            output.forward(frame, from: origin)
        case .amended(let frame, let app):
            tap.record(
                frame, .fromAccessory, app: app.id, time: time, fate: .amended,
                grant: meaning(of: frame))
            appOutput.send(frame, to: app)
        case .toApp(let frame, let app):
            tap.record(frame, .fromAccessory, app: app.id, time: time, fate: .byRelay)
            appOutput.send(frame, to: app)
        case .close(let app, let reason):
            close(app, reason)
        case .drain(let session):
            output.drain(session)
        case .purge(let session):
            output.purge(session)
        case .event(let event):
            if case .sessionOpened(let app, let grant) = event { opened(grant, of: app) }
            reporter.tell(event, at: now, time)
        }
    }

    func close(_ app: AppHandler, _ reason: CloseReason) {
        app.lastProblem = "\(reason)"
        app.close(reason)
    }

    /// What the head unit says of itself and of frames with a grant.
    private func opened(_ grant: SessionGrant, of app: AppHandler) {
        if let mtu = grant.mtu, mtu <= Self.largestBelievableMTU {
            app.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
            linkHandler?.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
        }
        link.make = grant.make ?? link.make
        link.model = grant.model ?? link.model
        link.protocolVersion = grant.fullVersion ?? "\(grant.version)"
    }

    /// Head units announce at most a few hundred KiB; more is an error of theirs.
    private static let largestBelievableMTU: Int64 = 4 << 20
    /// Whether an MTU counts the header is not agreed; one header and a little more is allowed.
    private static let payloadSlack = 28

    /// What the router wants because of what was written between two reads. Only goodbyes make it want
    /// anything; what was written may have started the time the head unit has to answer one, or was
    /// the last word.
    func settle() {
        if !router.actions.isEmpty {
            performActions()
            flushAll()
            tap.endRead()
            scheduleWakeUp()
        } else if router.isEndingSessions {
            scheduleWakeUp()
        }
        goodbyesMayBeSaid()
    }

    /// - Parameter moment: When it happened; without, the time of the current read.
    func hit(_ limit: RelayLimit, at moment: WallTime? = nil) {
        reporter.hit(limit, at: moment ?? time)
    }

    // MARK: - Time

    /// One timer for everything that has a deadline; none when nothing has.
    private func scheduleWakeUp() {
        guard let next = Self.earlier(router.nextDeadline, backPressure.nextDeadline) else {
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

    private func wokenUp() {
        wakeUp = nil
        beginRead()
        router.advance(to: now)
        performActions()
        sessionsMayHaveChanged()
        backPressure.advance(to: now)
        endRead()
    }

    /// A link which need not wait any more is read again, and a hold has its deadline.
    func backPressureChanged() {
        if !backPressure.isLinkHeld { linkHandler?.resumeReading() }
        scheduleWakeUp()
    }

    // MARK: - The link comes and goes

    func linkOpened(_ handler: LinkHandler) {
        guard linkHandler !== handler else { return }
        beginRead()
        output.linkOpened(handler)
        linkHandler = handler
        link.openedCount += 1
        link.openedAt = time
        link.recognised = nil
        tap.record(
            .linkOpened(
                number: link.openedCount, address: accessoryAddress, time: time))
        router.linkOpened(at: now)
        performActions()
        endRead()
    }

    func linkClosed(_ handler: LinkHandler, reason: String) {
        guard linkHandler === handler else { return }
        beginRead()
        linkHandler = nil
        link.garbageBytes += handler.garbageBytes
        output.linkClosed()
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

    func linkWillClose(because reason: String) {
        linkHandler?.willClose(because: reason)
    }

    /// Bytes from the head unit that are no frames.
    func garbage(_ report: GarbageReport) {
        link.recognised = WrongProtocol(firstBytes: report.excerpt) ?? link.recognised
        reporter.garbage(report, recognised: link.recognised, at: time)
    }

    // MARK: - Apps come and go

    func appConnected(_ app: AppHandler) {
        apps[app.id] = app
        router.connect(app)
        tap.record(.appConnected(app.id, peer: app.peer, time: .now()))
        reporter.connected(app)
    }

    func appDisconnected(_ app: AppHandler, reason: CloseReason) {
        beginRead()
        guard apps.removeValue(forKey: app.id) != nil else { return }
        router.disconnect(app, at: now)
        backPressure.drained(app, at: now)
        performActions()
        endRead()
        tap.record(.appClosed(app.id, reason: "\(reason)", time: time))
        departures.append(
            .init(id: app.id, peer: app.peer, closedAt: time, reason: reason))
        if departures.count > Self.departureCount { departures.removeFirst() }
        reporter.closed(app, reason)
        sessionsMayHaveChanged()
    }

    /// Its socket takes bytes again, or nobody waits for it to.
    func appDrained(_ app: AppHandler) {
        backPressure.drained(app, at: loop.now)
    }

    /// Bytes from an app that are no frame: that app alone is closed.
    func garbage(_ error: FrameError, at offset: UInt64, bytes: ByteBuffer, from app: AppHandler) {
        close(app, reporter.garbage(error, at: offset, bytes: bytes, from: app, at: time))
    }

    /// Connected, and has not sent one frame for as long as it may.
    func silent(_ app: AppHandler) {
        hit(.silentTimeout, at: .now())
        close(app, .silent(configuration.silentTimeout))
    }

    /// Ends the app's sessions on both sides and closes its connection; false when it is not there.
    func disconnect(_ id: AppID, because reason: CloseReason) -> Bool {
        guard let app = apps[id], app.closeReason == nil else { return false }
        beginRead()
        router.endSessions(of: app, at: now)
        performActions()
        endRead()
        close(app, reason)
        return true
    }

    // MARK: - Apps that send too fast

    /// Whether the head unit would stand one more frame of an app's session now: what has been
    /// written to the link counts. What is not for the link is counted by the app's own guard.
    @inline(__always)
    func allows(_ frame: Frame, of app: AppHandler, or own: inout RateGuard) -> Bool {
        guard router.isOpen(frame.sessionID, of: app) else { return own.allow(at: now) }
        return output.allows(frame.sessionID)
    }

    /// The app is gone, and was too fast for the head unit to hear all it said. There may be as many
    /// such frames as its socket held, so that they are only counted.
    func dropLastWord(_ frame: Frame, of app: AppHandler) {
        tap.record(frame, .fromApp, app: app.id, time: time, fate: .dropped(.leftTooFast))
        app.refusedFrames += 1
        app.unsaid.count(frame.wire.readableBytes)
    }

    /// The app has sent all it may for now; it goes on at `deadline`.
    func paced(_ app: AppHandler, until deadline: NIODeadline) {
        reporter.paced(app, at: now, time)
        // An app whose connection has ended may be all that is left.
        loop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            withExtendedLifetime(self) { app.resume(.rate) }
        }
    }

    // MARK: - The end

    /// Ends all sessions and closes the apps; `done` is called when the head unit has confirmed and
    /// the apps have hung up.
    func shutDown(done: @escaping () -> Void) {
        gate.close()
        beginRead()
        router.endAllSessions(at: now)
        performActions()
        endRead()
        for app in apps.values { close(app, .shutdown) }
        guard !hasSaidAllGoodbyes else { return done() }
        whenGoodbyesAreSaid.append(done)
    }

    // MARK: - Sinks of the tap

    /// Adds a sink, and tells it first who is there.
    func attach(_ queue: TapQueue, _ policy: TapPolicy) {
        var news: [TapItem] = []
        if isLinkUp {
            news.append(
                .linkOpened(
                    number: link.openedCount, address: accessoryAddress, time: link.openedAt))
        }
        news += apps.values.sorted { $0.id < $1.id }
            .map { .appConnected($0.id, peer: $0.peer, time: $0.connectedAt) }
        tap.attach(queue, policy, news: news)
    }
}

// MARK: - For status

extension Switchboard {
    var garbageBytes: UInt64 { link.garbageBytes + (linkHandler?.garbageBytes ?? 0) }
    var isLinkUp: Bool { linkHandler != nil }
    var isLinkHeld: Bool { backPressure.isLinkHeld }
    var isAwaitingAnswer: Bool { router.isAwaitingAnswer }
}
