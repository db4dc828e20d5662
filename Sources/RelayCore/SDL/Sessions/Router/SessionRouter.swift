package import NIOCore
package import SDLProtocol

/// Decides who gets which frame: the session table of one link. Pure: no sockets, no clock;
/// `SDLLanguage` carries out what it says.
///
/// In running order: an app asks for a session (one request at a time on the link), the head unit
/// grants it, frames flow both ways, either side ends it, and goodbye is said in the order that
/// `Farewell` knows. The parts are in files of their own: +FromApp, +FromAccessory, +Farewells,
/// +Heartbeats.
///
/// Generic over the handle that stands for an app: a connection in the relay, a name in tests.
/// Data frames take the short way through `receive`: one table look-up and no allocation. Control
/// frames are looked into; what they cause is left in `actions`, to be taken in order.
package struct SessionRouter<App: Hashable> {
    /// What is to be done with the frame that was given to `receive`.
    package enum Decision: Hashable {
        case toLink
        case toApp(App)
        case drop(DropReason)
        /// A StartService whose turn has not come: an action says it later, if it ever comes.
        case waits
        /// Not passed on as it is; the actions say what happens instead.
        case handled
    }

    /// Something to do besides, or instead of, passing a frame on.
    package enum Action: Hashable {
        /// A frame of an app that had to wait, or the relay's own words.
        case toLink(Frame, from: Origin<App>)
        /// An app's frame that was said to the link before this one as well, or waited there for its turn.
        case repeated(Frame, of: App)
        /// The head unit's frame without secondary transport offers.
        case amended(Frame, to: App)
        /// The relay's own words to an app.
        case toApp(Frame, App)
        case close(App, CloseReason)
        /// Call `drained` when no frame of this session waits for the link, at once if none does.
        case drain(UInt8)
        /// The session is over: its frames that wait for the link must never be written.
        case purge(UInt8)
        case event(RouterEvent<App>)
        /// Words of relayd's to the head unit, in an app's place because somebody wants it.
        case driven([Frame], App)
        /// The head unit's frame, which was kept back, or has its app's correlation ID again.
        case pass(Frame, to: App)
        /// The head unit's frame, which was kept back, goes nowhere.
        case dropped(Frame, DropReason)
        /// The head unit's frame is for relayd, which speaks in the app's place.
        case toRelay(Frame, App)
        /// What became of what `send` or `inject` was asked for.
        case answer(OwnRequestID, DrivenAnswer)
        /// What became of a service that relayd uses.
        case stream(OwnRequestID, StreamNews)
    }

    /// Correlation ID of the Unregister said for apps that are to go. sdl_core gives responses back
    /// the ID they came with; libraries use 65529 and 65530 for their own first and last request.
    package static var farewellCorrelationID: Int32 { 65_533 }
    /// Correlation ID of what ends a half message that has not told its own.
    package static var messageEndCorrelationID: Int32 { 65_534 }

    package internal(set) var actions: [Action] = []
    package private(set) var isLinkUp = false
    /// Of the latest control frame of the head unit, if it is a StartServiceACK of the RPC service.
    package internal(set) var grantMeaning = GrantMeaning.nothing

    package var configuration: RelayConfiguration
    var routes = ContiguousArray<Route>(repeating: Route(), count: 256)
    var grants: [UInt8: SessionGrant] = [:]
    var apps: [App: AppState] = [:]
    var starts = StartServiceQueue<App>()
    /// Sessions that are being ended, whoever wanted it.
    var farewells: [UInt8: Farewell<App>] = [:]
    /// What has been written of messages that are unfinished.
    var halves = HalfMessages()
    /// Answers to the relay's own requests that have not come.
    var ownRequests = OwnRequests()
    /// What apps ask in sessions in which relayd asks as well.
    var appRequests = AppRequests()
    /// Messages of several frames that may answer relayd.
    var drivenAnswers = DrivenAnswers()
    /// What is said in the head unit's place.
    var injections = Injections()
    /// Who uses the audio and video services.
    var streams = StreamServices()
    /// EndServices that may end another session than their own.
    var strayEnds = StrayEnds()
    /// Heartbeats of the head unit that wait for their apps' answers.
    var heartbeats: [UInt8: Heartbeat] = [:]
    /// A stopping relay says EndService then, whatever has not been answered.
    var stopDeadline: NIODeadline?
    /// The moment of the latest control frame or event; data frames do not need it.
    var now = NIODeadline.uptimeNanoseconds(0)

    package init(configuration: RelayConfiguration) {
        self.configuration = configuration
    }

    /// What is known of a session ID; small, because every frame looks here.
    struct Route {
        enum Phase: UInt8 {
            /// Nobody's.
            case free
            /// Granted and not ended.
            case open
            /// The app has ended it. It may send no more; the head unit has not answered.
            case ending
            /// The head unit has sent EndService. It still says why afterwards, and the app may
            /// answer; data of the app would reach whoever gets the number next.
            case endedByAccessory
            /// It is over: late frames still reach the app, it may send no more.
            case ended
            /// Its app left; goodbye is being said. What the head unit still sends is swallowed.
            case farewell
        }

        var owner: App?
        var phase = Phase.free
        /// A running RPC service asked to become protected.
        var isUpgradePending = false
        /// Frames of the head unit have to be looked at: an own request is unanswered, or the
        /// number had another owner a moment ago.
        var isWatched = false
        /// relayd has asked something in it for somebody.
        var isDriven = false
        var highestMessageID: UInt32 = 0
        /// The largest frames the head unit takes.
        var payloads = PayloadLimits()
        /// When the number's former session ended, for late words.
        var formerEnd: NIODeadline?
        /// Frames with no more payload than this are looked at; see `noteRegistration`.
        var examinedPayload = Self.smallPayload
        /// Correlation ID of the app's own Unregister, until it is answered.
        var ownUnregister: Int32?
        /// The app has unregistered itself, and not registered since.
        var isUnregistered = false

        /// An Unregister has no parameters, and libraries write no more than an empty object.
        static var smallPayload: UInt32 { 64 }
    }

    struct AppState {
        var sessions: [UInt8] = []
        /// Numbers of sessions it had. What it said in one of them may be read when the
        /// head unit has ended it and granted the number to another app.
        var formerSessions = SessionSet()
        /// Its connection has ended; words of it may be left.
        var hasHungUp = false
    }
}

// MARK: - Apps come and go

extension SessionRouter {
    package mutating func connect(_ app: App) {
        apps[app] = AppState()
    }

    /// How the app leaves, if it closes its connection now.
    package func leaving(of app: App) -> AppLeaving {
        guard let state = apps[app] else { return .unused }
        let open = state.sessions.filter {
            routes[$0].owner == app && routes[$0].phase == .open
        }
        guard !open.isEmpty else {
            return state.sessions.isEmpty && state.formerSessions.isEmpty ? .unused : .ended
        }
        if let half = open.lazy.compactMap({ halves.unfinished(of: $0).first }).first {
            return .vanishedInside(
                message: half.functionID.map { FunctionID(rawValue: $0).description }
                    ?? "a message",
                bytes: half.bytes, of: UInt64(half.announcedBytes))
        }
        let hasSaidSo = open.allSatisfy {
            routes[$0].isUnregistered || routes[$0].ownUnregister != nil
        }
        return hasSaidSo ? .unregistered : .vanished
    }

    /// The app's connection has ended, and some of its words may still have to wait for their rate. Nobody
    /// hears the answer to a StartService of it any more.
    package mutating func hangUp(_ app: App) {
        apps[app]?.hasHungUp = true
        starts.forget(app)
    }

    /// The app's connection is gone, and its last word said: say goodbye for each of its sessions.
    package mutating func disconnect(_ app: App, at now: NIODeadline) {
        self.now = now
        guard let state = apps.removeValue(forKey: app) else { return }
        starts.forget(app)
        for session in state.sessions where routes[session].owner == app { leave(session) }
        sendNextStart(at: now)
    }

    /// The session's number is free: nothing is known of it but that late words may come.
    mutating func release(_ session: UInt8) {
        if let owner = routes[session].owner {
            apps[owner]?.sessions.removeAll { $0 == session }
            apps[owner]?.formerSessions.insert(session)
        }
        grants[session] = nil
        farewells[session] = nil
        heartbeats[session] = nil
        giveUpAsked(in: session)
        let hadLife = routes[session].phase != .free
        let formerEnd = hadLife ? now : routes[session].formerEnd
        routes[session] = Route()
        routes[session].formerEnd = formerEnd
        routes[session].isWatched = formerEnd != nil || ownRequests.owes(session)
    }
}

// MARK: - The link comes and goes

extension SessionRouter {
    package mutating func linkOpened(at now: NIODeadline) {
        self.now = now
        isLinkUp = true
        sendNextStart(at: now)
    }

    /// All sessions are gone with the link; apps are closed so that their libraries reconnect.
    package mutating func linkClosed(reason: String, at now: NIODeadline) {
        self.now = now
        isLinkUp = false
        for session in grants.keys { release(session) }
        for session in routes.indices { routes[session] = Route() }
        halves.removeAll()
        giveUpAsked()
        ownRequests.forgetAll()
        strayEnds = StrayEnds()
        farewells = [:]
        heartbeats = [:]
        starts.linkClosed(holdUntil: now + configuration.holdTimeout)
        guard configuration.whenLinkLost == .close else { return }
        for app in apps.keys { actions.append(.close(app, .linkLost(reason))) }
    }
}

// MARK: - For the switchboard and status

extension SessionRouter {
    /// The actions since the last call, in the order they are to be carried out.
    package mutating func takeActions() -> [Action] {
        guard !actions.isEmpty else { return [] }
        defer { actions = [] }
        return actions
    }

    /// Sessions the app owns that are not over, in the order of their grant.
    package func sessions(of app: App) -> [SessionGrant] {
        (apps[app]?.sessions ?? []).filter { routes[$0].phase != .ended }.compactMap { grants[$0] }
    }

    /// The app waits for an answer to StartService, its own or the one before it.
    package func isStarting(_ app: App) -> Bool { starts.pending(of: app) > 0 }

    package var openSessions: Int { grants.keys.count { routes[$0].phase == .open } }
    package var farewellSessions: Int { grants.keys.count { routes[$0].phase == .farewell } }
    /// No session is waiting for the head unit's confirmation that it has ended.
    package var hasSaidAllGoodbyes: Bool { farewellSessions == 0 }
    package var isEndingSessions: Bool { !farewells.isEmpty }
    package var waitingStarts: Int { starts.waiting }
    package var isAwaitingAnswer: Bool { starts.isAwaitingAnswer }
    /// Sessions whose frames may be expected from the head unit.
    package var knownSessions: SessionSet {
        grants.keys.reduce(into: SessionSet()) { $0.insert($1) }
    }
}

extension ContiguousArray {
    /// Session IDs index tables of 256 entries. In place: `get` and `set` would copy an entry for one of its fields.
    @inline(__always)
    subscript(session: UInt8) -> Element {
        _read { yield self[Int(session)] }
        _modify { yield &self[Int(session)] }
    }
}
