import NIOCore
import SDLProtocol

/// SmartDeviceLink between one head unit and its apps: carries out what `SessionRouter` decides.
/// Everything here is called on the hub's loop.
///
/// Life of a frame, accessory → app: `receiveFromAccessory` asks the router, shows the frame to the
/// tap and sends it to the app's connection. App → accessory: `receive` asks the router,
/// `LinkOutput` writes or queues.
final class SDLLanguage: AccessoryLanguage {
    /// Unchecked: the check costs every frame two atomic operations. The hub owns this object, and pending
    /// timers keep the hub alive.
    unowned(unsafe) let hub: Switchboard
    let reporter: SDLReporter
    /// Decides which frame may go to the head unit now.
    private(set) lazy var output = LinkOutput(self)
    /// Decides whether the link has to wait for an app that reads too slowly.
    private lazy var backPressure = BackPressure(hub: hub)
    var router: SessionRouter<SDLApp>
    private var link: SDLLink?
    private(set) var apps: [AppID: SDLApp] = [:]
    private var isPerforming = false
    /// The fault rules and the frames they hold; nil when there are none, so that each frame costs only one
    /// check.
    var faults: FaultStage<SDLApp>?
    var isFaulting = false
    /// The number of the latest fault rule.
    var faultNumber: UInt32 = 0
    /// Audio and video streams that relayd sends in place of apps.
    var streams: [OwnRequestID: DrivenStream] = [:]
    /// The callbacks that wait for answers to relayd's own requests.
    private var asked: [OwnRequestID: (DrivenAnswer) -> Void] = [:]

    init(_ hub: Switchboard) {
        self.hub = hub
        router = SessionRouter(configuration: hub.configuration)
        reporter = SDLReporter(hub.reporter, configuration: hub.configuration)
    }

    func reconfigure(_ configuration: RelayConfiguration) {
        router.configuration = configuration
        reporter.configuration = configuration
        backPressure.reconfigure(configuration)
        output.reconfigure(configuration)
        faults?.limit(to: configuration.framesPerSecond, at: hub.loop.now)
        dropHarmfulFaults()
    }

    // MARK: - Accessory → app

    func receiveFromAccessory(_ frame: Frame) {
        let hub = hub
        hub.link.counters.framesIn &+= 1
        switch router.receiveFromAccessory(frame, at: hub.now) {
        case .toApp(let app):
            deliver(frame, to: app, grant: meaning(of: frame))
        case .drop(let reason):
            hub.tap.record(
                frame, .fromAccessory, app: nil, time: hub.time, fate: .dropped(reason))
        case .handled:
            for case .amended(_, let app) in router.actions {
                hub.tap.record(
                    frame, .fromAccessory, app: app.id, time: hub.time, fate: .replaced)
            }
        case .toLink, .waits: break
        }
        if !router.actions.isEmpty { performActions() }
        if frame.type == .control { sessionsMayHaveChanged() }
    }

    /// Sends to an app, through the fault rules if there are any.
    @inline(__always)
    private func deliver(
        _ frame: Frame, to app: SDLApp, fate: FrameFate = .forwarded, grant: GrantMeaning? = nil
    ) {
        guard faults == nil else { return passThroughFaults(frame, to: app, fate, grant) }
        pass(frame, to: app, fate: fate, grant: grant)
    }

    @inline(__always)
    func pass(_ frame: Frame, to app: SDLApp, fate: FrameFate, grant: GrantMeaning?) {
        let hub = hub
        hub.tap.record(
            frame, .fromAccessory, app: app.id, time: hub.time, fate: fate, grant: grant)
        hub.send(frame.wire, to: app.connection)
    }

    /// How the router understood the frame, if it is a grant.
    @inline(__always)
    private func meaning(of frame: Frame) -> GrantMeaning? {
        guard frame.controlType == .startServiceACK, frame.service == .rpc else { return nil }
        return router.grantMeaning
    }

    private func sessionsMayHaveChanged() {
        link?.expect(sessions: router.knownSessions)
        hub.finishIfAllIsSaid()
    }

    // MARK: - App → accessory

    @inline(__always)
    func receive(_ frame: Frame, from app: SDLApp) {
        guard faults == nil else { return routeThroughFaults(frame, from: app) }
        route(frame, from: app)
    }

    /// - Parameter fate: What a fault rule has done to the frame.
    func route(_ frame: Frame, from app: SDLApp, fate: FrameFate = .forwarded) {
        let hub = hub
        switch router.receive(frame, from: app, at: hub.now) {
        case .toLink:
            hub.tap.record(frame, .fromApp, app: app.id, time: hub.time, fate: fate)
            app.output.forward(frame, from: .app(app))
        case .drop(let reason):
            hub.tap.record(frame, .fromApp, app: app.id, time: hub.time, fate: .dropped(reason))
            reporter.refused(frame, of: app, because: reason, at: hub.time)
        case .waits:
            hub.tap.record(
                frame, .fromApp, app: app.id, time: hub.time, fate: fate, isWaiting: true)
        case .toApp, .handled:
            hub.tap.record(frame, .fromApp, app: app.id, time: hub.time, fate: fate)
        }
        if !router.actions.isEmpty { performActions() }
    }

    // MARK: - Router actions

    /// Carries out the router's actions, and those that result from them, in order.
    func performActions() {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while true {
            while !router.actions.isEmpty {
                for action in router.takeActions() { perform(action) }
            }
            guard !answers.isEmpty else { return }
            let told = answers
            answers = []
            for (id, answer) in told { asked.removeValue(forKey: id)?(answer) }
        }
    }

    private func perform(_ action: SessionRouter<SDLApp>.Action) {
        switch action {
        case .toLink(let frame, let origin):
            if origin.isRelay {
                hub.tap.record(frame, .fromApp, app: nil, time: hub.time, fate: .byRelay)
            }
            output.forward(frame, from: origin)
        case .repeated(let frame, let app):
            hub.tap.record(frame, .fromApp, app: app.id, time: hub.time, fate: .byRelay)
            output.forward(frame, from: .app(app))
        case .amended(let frame, let app):
            deliver(frame, to: app, fate: .amended, grant: meaning(of: frame))
        case .toApp(let frame, let app):
            deliver(frame, to: app, fate: .byRelay)
        case .close(let app, let reason):
            hub.close(app.connection, reason)
        case .drain(let session):
            output.drain(session)
        case .purge(let session):
            output.purge(session)
            faults?.sessionIsOver(session)
        case .event(let event):
            if case .sessionOpened(let app, let grant) = event {
                faults?.sessionIsOver(grant.sessionID)
                opened(grant, of: app)
            }
            reporter.tell(event, at: hub.now, hub.time)
        case .driven(let frames, let app):
            for frame in frames {
                hub.tap.record(frame, .fromApp, app: app.id, time: hub.time, fate: .byRelay)
                // Sent as the app's own: waiting frames go before the app's goodbye, and no faster than the head
                // unit takes frames from the app.
                output.forward(frame, from: .app(app))
            }
        case .pass(let frame, let app):
            deliver(frame, to: app)
        case .dropped(let frame, let reason):
            hub.tap.record(
                frame, .fromAccessory, app: nil, time: hub.time, fate: .dropped(reason))
        case .toRelay(let frame, let app):
            hub.tap.record(
                frame, .fromAccessory, app: app.id, time: hub.time, fate: .dropped(.answersRelay))
        case .answer(let id, let answer):
            answers.append((id, answer))
        case .stream(let id, let news):
            streams[id]?.hear(news)
        }
    }

    /// Notes what a grant says about the head unit and about frames.
    private func opened(_ grant: SessionGrant, of app: SDLApp) {
        if let mtu = grant.mtu, mtu <= Self.largestBelievableMTU {
            app.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
            link?.allowPayload(bytes: Int(mtu) + Self.payloadSlack)
        }
        hub.link.make = grant.make ?? hub.link.make
        hub.link.model = grant.model ?? hub.link.model
        hub.link.protocolVersion = grant.fullVersion ?? "\(grant.version)"
    }

    /// Head units announce at most a few hundred KiB; a larger value is their error.
    private static let largestBelievableMTU: Int64 = 4 << 20
    /// Whether an MTU includes the header is not agreed, so one header and a little more is allowed.
    private static let payloadSlack = 28

    /// Carries out the actions that result from writes between two reads. Only goodbyes cause any: a write may
    /// have started the head unit's time to answer one, or may have been its last word.
    func settle() {
        if !router.actions.isEmpty {
            performActions()
            hub.settle()
        } else if router.isEndingSessions {
            hub.scheduleWakeUp()
        }
        if !streams.isEmpty { streamOn() }
        hub.finishIfAllIsSaid()
    }

    // MARK: - Driving

    /// Answers to deliver once the actions before them are done: an answer must not come before its message is
    /// written.
    private var answers: [(id: OwnRequestID, answer: DrivenAnswer)] = []

    /// Sends an RPC in an app's session, in place of the app or of the head unit.
    ///
    /// - Parameter answered: Called once, with the head unit's answer or another outcome; not after `giveUp`.
    ///   May be called before this returns.
    @discardableResult
    func drive(
        _ rpc: DrivenRPC, _ direction: Direction, app: AppID, session: UInt8?,
        patience: TimeAmount, answered: @escaping (DrivenAnswer) -> Void
    ) throws(DriveRefusal) -> OwnRequestID {
        guard let owner = apps[app] else { throw .noSuchApp }
        let session = try openSession(of: owner, session)
        hub.beginRead()
        defer { hub.endRead() }
        let id =
            switch direction {
            case .fromApp:
                try router.send(rpc, in: session, patience: patience, at: hub.now)
            case .fromAccessory:
                try router.inject(rpc, in: session, patience: patience, at: hub.now)
            }
        asked[id] = answered
        performActions()
        return id
    }

    /// Stops waiting for the outcome of a request. Does nothing when the outcome is already known.
    func giveUp(_ id: OwnRequestID) {
        if asked.removeValue(forKey: id) != nil { router.giveUp(id) }
    }

    /// - Parameter session: Nil for the first that is open.
    func openSession(of owner: SDLApp, _ session: UInt8?) throws(DriveRefusal) -> UInt8 {
        let sessions = router.sessions(of: owner).map(\.sessionID).filter {
            router.isOpen($0, of: owner)
        }
        guard let session = sessions.first(where: { session == nil || $0 == session }) else {
            throw .noSession
        }
        return session
    }

    // MARK: - Time

    func flushLink() { output.flush() }

    var unflushedLinkBytes: Int { output.unflushedBytes }

    func readIsOver() { output.drainIfReady() }

    var nextDeadline: NIODeadline? {
        let own = faults?.nextDeadline
        let (left, right) = (router.nextDeadline, backPressure.nextDeadline)
        guard let left, let right else {
            let next = left ?? right
            guard let own, let next else { return own ?? next }
            return min(own, next)
        }
        return min(left, right, own ?? .distantFuture)
    }

    func advance() {
        router.advance(to: hub.now)
        performActions()
        if faults != nil { carryOutFaults() }
        sessionsMayHaveChanged()
        backPressure.advance(to: hub.now)
    }

    // MARK: - The link comes and goes

    func linkOpened(_ connection: LinkConnection) -> any LinkReader {
        let link = SDLLink(connection, self)
        self.link = link
        output.linkOpened(connection)
        router.linkOpened(at: hub.now)
        performActions()
        return link
    }

    func linkClosed(because reason: String) {
        hub.link.garbageBytes += link?.garbageBytes ?? 0
        link?.showUnfinished()
        link = nil
        output.linkClosed()
        if faults != nil { faultsLoseLink() }
        router.linkClosed(reason: reason, at: hub.now)
        performActions()
    }

    func linkTookAll() { output.kernelTookAll() }

    var isLinkHeld: Bool { backPressure.isLinkHeld }
    var isAwaitingAnswer: Bool { router.isAwaitingAnswer }

    /// Shows bytes that were not a frame to whatever records everything.
    func noFrame(_ bytes: ByteBuffer, at offset: UInt64, of app: AppID?) {
        guard bytes.readableBytes > 0 else { return }
        hub.tap.record(
            TappedBytes(
                bytes: bytes, direction: app == nil ? .fromAccessory : .fromApp, app: app,
                offset: offset, time: hub.time))
    }

    /// Handles bytes from the head unit that are not frames.
    func garbage(_ report: GarbageReport) {
        hub.link.recognised = WrongProtocol(firstBytes: report.excerpt) ?? hub.link.recognised
        reporter.garbage(report, recognised: hub.link.recognised, at: hub.time)
    }

    // MARK: - Apps come and go

    func connected(_ connection: AppConnection) -> any AppReader {
        let app = SDLApp(connection, self)
        apps[connection.id] = app
        router.connect(app)
        faults?.know(app, FaultAppFacts(connection: connection.id.rawValue))
        return app
    }

    func hungUp(_ app: SDLApp) { router.hangUp(app) }

    func disconnected(_ connection: AppConnection) -> AppLeaving {
        guard let app = apps.removeValue(forKey: connection.id) else { return .unused }
        if faults != nil { faultsLose(app) }
        let leaving = app.leavingInsideFrame ?? router.leaving(of: app)
        app.showUnfinished()
        router.disconnect(app, at: hub.now)
        backPressure.drained(connection, at: hub.now)
        performActions()
        reporter.closed(app)
        sessionsMayHaveChanged()
        return leaving
    }

    func blocked(_ app: AppConnection) { backPressure.blocked(app) }

    func tookAll(_ app: AppConnection) { backPressure.drained(app, at: hub.loop.now) }

    /// Handles bytes from an app that are not a frame: closes that app alone.
    func garbage(_ error: FrameError, at offset: UInt64, bytes: ByteBuffer, from app: SDLApp) {
        let reason = reporter.garbage(error, at: offset, bytes: bytes, from: app, at: hub.time)
        hub.close(app.connection, reason)
    }

    func leave(_ connection: AppConnection) {
        guard let app = apps[connection.id] else { return }
        if faults != nil { forgetInFaults(app) }
        router.endSessions(of: app, at: hub.now)
        performActions()
    }

    // MARK: - Apps that send too fast

    /// Whether the head unit would tolerate one more frame of an app's session now, counting what has been
    /// written to the link. Frames that are not for the link are counted here by the app's own guard.
    @inline(__always)
    func admit(_ frame: Frame, of app: SDLApp, or own: inout RateGuard) -> Bool {
        // True in most cases; asking the router would make a copy of it.
        let isPlainlyOpen =
            router.routes[frame.sessionID].owner == app
            && router.routes[frame.sessionID].phase == .open
        guard isPlainlyOpen || router.isOpen(frame.sessionID, of: app) else {
            return own.allow(at: hub.now)
        }
        return app.output.allows(frame.sessionID)
    }

    /// Drops a frame of an app that has gone and sent too fast for the head unit to hear everything. There may
    /// be as many such frames as its socket held, so they are only counted.
    func dropLastWord(_ frame: Frame, of app: SDLApp) {
        hub.tap.record(
            frame, .fromApp, app: app.id, time: hub.time, fate: .dropped(.leftTooFast))
        app.connection.refusals += 1
        app.unsaid.count(frame.wire.readableBytes)
    }

    /// Reports that the app has sent all it may for now, and resumes it at `deadline`.
    func paced(_ app: SDLApp, until deadline: NIODeadline) {
        reporter.paced(app, at: hub.now, hub.time)
        // An app whose connection has ended may be all that is left.
        hub.loop.assumeIsolated().scheduleTask(deadline: deadline) { [hub] in
            withExtendedLifetime(hub) { app.connection.resume(.rate) }
        }
    }

    // MARK: - The end

    func leaveAll() {
        // relayd is stopping: what is sent now must get through.
        if faults != nil { clearFaults() }
        router.endAllSessions(at: hub.now)
        performActions()
    }

    /// A goodbye may also be over because its last frame has been written.
    var isAllSaid: Bool { router.hasSaidAllGoodbyes }

    var silentTimeout: TimeAmount { hub.configuration.silentTimeout }

    func refusal(_ reason: String) -> any ChannelHandler { SurplusHandler(reason: reason) }
}

// MARK: - For status

extension SDLLanguage {
    var garbageBytes: UInt64 { hub.link.garbageBytes + (link?.garbageBytes ?? 0) }

    func describe(_ link: inout RelaySnapshot.Link) {
        link.garbageBytes = garbageBytes
        link.openSessions = router.openSessions
        link.farewellSessions = router.farewellSessions
        link.waitingStarts = router.waitingStarts
        link.isAwaitingAnswer = isAwaitingAnswer
        link.faults = faultSnapshot
        link.queuedBytes = output.waitingBytes
        link.bytesInFlight = output.bytesInFlight
        link.drainRate = output.drainRate.map { Int(min($0, 1e15)) }
    }

    func describe(_ app: inout RelaySnapshot.App) {
        guard let known = apps[app.id] else { return }
        app.sessions = router.sessions(of: known)
        app.isStarting = router.isStarting(known)
    }
}
