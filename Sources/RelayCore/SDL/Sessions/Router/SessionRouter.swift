package import NIOCore
package import SDLProtocol

/// Decides who gets which frame: the session table of one link. Pure: no sockets, no clock; `SDLLanguage` carries
/// out its decisions.
///
/// In running order: an app asks for a session (one request at a time on the link), the head unit grants it, frames
/// flow both ways, either side ends it, and goodbye is said in the order that `Farewell` defines. The parts are in
/// files of their own: +FromApp, +FromAccessory, +Farewells, +FarewellSteps, +HalfMessages, +Heartbeats, +Driving,
/// +Streaming.
///
/// Generic over the handle that stands for an app: a connection in the relay, a name in tests. Data frames take the
/// short way through `receive`: one table look-up and no allocation. Control frames are examined; what they cause
/// is left in `actions`, to be taken in order.
package struct SessionRouter<App: Hashable> {
    /// What to do with the frame that was given to `receive`.
    package enum Decision: Hashable {
        case toLink
        case toApp(App)
        case drop(DropReason)
        /// A StartService whose turn has not come: an action sends it later, if its turn ever comes.
        case waits
        /// Not passed on as it is; the actions say what happens instead.
        case handled
    }

    /// Something to do besides, or instead of, passing a frame on.
    package enum Action: Hashable {
        /// A frame of an app that had to wait, or a frame of the relay's own.
        case toLink(Frame, from: Origin<App>)
        /// An app's frame that was sent on an earlier link already, or waited there for its turn.
        case repeated(Frame, of: App)
        /// The head unit's frame without secondary transport offers.
        case amended(Frame, to: App)
        /// The relay's own frame to an app.
        case toApp(Frame, App)
        case close(App, CloseReason)
        /// Call `drained` when no frame of this session waits for the link, at once if none does.
        case drain(UInt8)
        /// The session is over: its frames that wait for the link must never be written.
        case purge(UInt8)
        case event(RouterEvent<App>)
        /// relayd's own frames to the head unit, sent in place of an app because somebody wants it.
        case driven([Frame], App)
        /// The head unit's frame, which was kept back, or has its app's correlation ID again.
        case pass(Frame, to: App)
        /// The head unit's frame, which was kept back, goes nowhere.
        case dropped(Frame, DropReason)
        /// The head unit's frame is for relayd, which speaks in the app's place.
        case toRelay(Frame, App)
        /// The outcome of a `send` or `inject`.
        case answer(OwnRequestID, DrivenAnswer)
        /// News of a service that relayd uses.
        case stream(OwnRequestID, StreamNews)
    }

    /// Correlation ID of the Unregister sent for apps that are to go. sdl_core gives a response the ID of its
    /// request; libraries use 65529 and 65530 for their own first and last request.
    package static var farewellCorrelationID: Int32 { 65_533 }
    /// Correlation ID of the end of a half message that has not told its own.
    package static var messageEndCorrelationID: Int32 { 65_534 }

    package internal(set) var actions: [Action] = []
    package private(set) var isLinkUp = false
    /// The meaning of the head unit's latest control frame, if it is a StartServiceACK of the RPC service.
    package internal(set) var grantMeaning = GrantMeaning.nothing

    package var configuration: RelayConfiguration
    var routes = ContiguousArray<Route>(repeating: Route(), count: 256)
    var grants: [UInt8: SessionGrant] = [:]
    var apps: [App: AppState] = [:]
    var starts = StartServiceQueue<App>()
    /// Sessions that are being ended, whoever wanted it.
    var farewells: [UInt8: Farewell<App>] = [:]
    /// Unfinished messages, as far as they have been written.
    var halves = HalfMessages()
    /// The relay's own requests whose answers have not come.
    var ownRequests = OwnRequests()
    /// The requests of apps in sessions in which relayd sends requests as well.
    var appRequests = AppRequests()
    /// Multi-frame messages that may answer relayd.
    var drivenAnswers = DrivenAnswers()
    /// Messages sent in place of the head unit.
    var injections = Injections()
    /// Who uses the audio and video services.
    var streams = StreamServices()
    /// EndServices that may end another session than their own.
    var strayEnds = StrayEnds()
    /// Heartbeats of the head unit that wait for their apps' answers.
    var heartbeats: [UInt8: Heartbeat] = [:]
    /// When a stopping relay sends EndService, whatever has not been answered.
    var stopDeadline: NIODeadline?
    /// The moment of the latest control frame or event; data frames do not need it.
    var now = NIODeadline.uptimeNanoseconds(0)

    package init(configuration: RelayConfiguration) {
        self.configuration = configuration
    }

    /// What is known of a session ID; small, because it is looked up for every frame.
    struct Route {
        enum Phase: UInt8 {
            /// Not in use.
            case free
            /// Granted and not ended.
            case open
            /// The app has ended it. It may send no more; the head unit has not answered.
            case ending
            /// The head unit has sent EndService. It still says why afterwards, and the app may answer; data of the
            /// app would count as data of the next app with the number.
            case endedByAccessory
            /// The session is over: late frames still reach the app, which may send no more.
            case ended
            /// The app left; goodbye is being said. Anything the head unit still sends is swallowed.
            case farewell
        }

        var owner: App?
        var phase = Phase.free
        /// The app has asked to protect its running RPC service.
        var isUpgradePending = false
        /// Frames of the head unit have to be examined: a request of relayd's or the app's own Unregister is
        /// unanswered, the head unit may refuse a message of the app that it has in part or got late, the
        /// session is driven, or the number had another owner a moment ago. `inspect` clears it again.
        var isWatched = false
        /// relayd has sent a request in the session for somebody, or the app has used an ID of relayd's range.
        var isDriven = false
        var highestMessageID: UInt32 = 0
        /// The largest frames the head unit takes.
        var payloads = PayloadLimits()
        /// When the number's former session ended, for late words.
        var formerEnd: NIODeadline?
        /// Frames with no more payload than this are examined; see `noteRegistration`.
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
        /// Numbers of sessions the app had. relayd may read frames that it sent in one of them after the
        /// head unit has ended the session and granted the number to another app; these are not foreign frames.
        var formerSessions = SessionSet()
        /// The app's connection has ended; frames from it may be left.
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

    /// Notes that the app's connection has ended. Some of its frames may still have to wait for their rate, but
    /// nobody hears the answer to its StartServices any more.
    package mutating func hangUp(_ app: App) {
        apps[app]?.hasHungUp = true
        starts.forget(app)
    }

    /// Says goodbye for each session of an app whose connection is gone and whose last frame has been handled.
    package mutating func disconnect(_ app: App, at now: NIODeadline) {
        self.now = now
        guard let state = apps.removeValue(forKey: app) else { return }
        starts.forget(app)
        for session in state.sessions where routes[session].owner == app { leave(session) }
        sendNextStart(at: now)
    }

    /// Frees the session's number: nothing is known of it but that late words may come.
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

    /// Whether the app waits for an answer to StartService, its own or the one before it.
    package func isStarting(_ app: App) -> Bool { starts.pending(of: app) > 0 }

    package var openSessions: Int { grants.keys.count { routes[$0].phase == .open } }
    package var farewellSessions: Int { grants.keys.count { routes[$0].phase == .farewell } }
    /// Whether no session is waiting for the head unit's confirmation that it has ended.
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
