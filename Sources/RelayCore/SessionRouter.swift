// Decides who gets which frame. Pure: no sockets, no clock; `Switchboard` carries out what it says.
//
// In running order: an app asks for a session (one request at a time on the link), the head unit
// grants it, frames flow both ways, either side ends it, and a farewell is said for an app that left.

package import NIOCore
package import SDLProtocol

/// The session table of one link.
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
        /// Not passed on as it is; the actions say what happens instead.
        case handled
    }

    /// Something to do besides, or instead of, passing a frame on.
    package enum Action: Hashable {
        /// A frame of an app that had to wait, or `nil` for the relay's own words.
        case toLink(Frame, from: App?)
        /// The head unit's frame without secondary transport offers.
        case amended(Frame, to: App)
        /// The relay's own words to an app.
        case toApp(Frame, App)
        case close(App, CloseReason)
        case event(RouterEvent<App>)
    }

    /// Correlation ID of the goodbyes said for apps that left. sdl_core gives responses back the ID
    /// they came with; libraries use 65529 and 65530 for their own first and last request.
    package static var farewellCorrelationID: Int32 { 65_533 }

    package internal(set) var actions: [Action] = []
    package private(set) var isLinkUp = false

    package var configuration: RelayConfiguration
    var routes = ContiguousArray<Route>(repeating: Route(), count: 256)
    var grants: [UInt8: SessionGrant] = [:]
    var apps: [App: AppState] = [:]
    var starts = StartServiceQueue<App>()

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
            /// The app has sent EndService, the head unit has not answered.
            case ending
            /// The head unit has sent EndService. sdl_core still says why afterwards, and libraries
            /// still answer, so frames pass both ways until the ID is granted anew.
            case endedByAccessory
            /// EndServiceACK was seen: late frames still reach the app, it may send no more.
            case ended
            /// Its app left; goodbye was said. What the head unit still sends is swallowed.
            case farewell
        }

        var owner: App?
        var phase = Phase.free
        /// A running RPC service asked to become protected.
        var isUpgradePending = false
        /// The answer to a goodbye said under this ID has not come; it must not reach the next app.
        var owesFarewellReply = false
        var highestMessageID: UInt32 = 0
    }

    struct AppState {
        var sessions: [UInt8] = []
    }
}

// MARK: - Apps come and go

extension SessionRouter {
    package mutating func connect(_ app: App) {
        apps[app] = AppState()
    }

    /// The app's connection is gone: say goodbye for each of its sessions.
    package mutating func disconnect(_ app: App, at now: NIODeadline) {
        guard let state = apps.removeValue(forKey: app) else { return }
        starts.forget(app)
        for session in state.sessions where routes[session].owner == app {
            leave(session)
        }
        sendNextStart(at: now)
    }

    private mutating func leave(_ session: UInt8) {
        switch routes[session].phase {
        case .open where isLinkUp:
            sayGoodbye(session, unregister: true)
        case .ending where isLinkUp:
            // The app itself asked; only the answer is left to swallow.
            routes[session].owner = nil
            routes[session].phase = .farewell
        default:
            release(session)
        }
    }

    /// Unregisters and ends a session in its app's place. The message IDs are larger than any the
    /// app used, so that an unfinished multi-frame message is not continued by them.
    mutating func sayGoodbye(_ session: UInt8, unregister: Bool) {
        guard let grant = grants[session] else { return release(session) }
        let messageID = min(routes[session].highestMessageID, .max - 2)
        if unregister {
            let goodbye =
                grant.version == 1
                ? Frame.rpcV1(
                    sessionID: session, type: .request, name: "UnregisterAppInterface",
                    correlationID: Self.farewellCorrelationID)
                : Frame.rpc(
                    version: grant.version, sessionID: session, messageID: messageID + 1,
                    type: .request, functionID: FunctionID.unregisterAppInterface.rawValue,
                    correlationID: Self.farewellCorrelationID)
            actions.append(.toLink(goodbye, from: nil))
            routes[session].owesFarewellReply = grant.version > 1
        }
        let end = Frame.endService(
            version: grant.version, sessionID: session, hashID: grant.hashID,
            messageID: messageID + 2)
        actions.append(.toLink(end, from: nil))
        actions.append(.event(.farewell(session: session)))
        routes[session].owner = nil
        routes[session].phase = .farewell
    }

    mutating func release(_ session: UInt8) {
        if let owner = routes[session].owner {
            apps[owner]?.sessions.removeAll { $0 == session }
        }
        grants[session] = nil
        let owesFarewellReply = routes[session].owesFarewellReply
        routes[session] = Route()
        routes[session].owesFarewellReply = owesFarewellReply
    }
}

// MARK: - The link comes and goes

extension SessionRouter {
    package mutating func linkOpened(at now: NIODeadline) {
        isLinkUp = true
        sendNextStart(at: now)
    }

    /// All sessions are gone with the link; apps are closed so that their libraries reconnect.
    package mutating func linkClosed(reason: String, at now: NIODeadline) {
        isLinkUp = false
        for session in grants.keys { release(session) }
        for session in routes.indices { routes[session] = Route() }
        starts.linkClosed(holdUntil: now + configuration.holdTimeout)
        guard configuration.whenLinkLost == .close else { return }
        for app in apps.keys { actions.append(.close(app, .linkLost(reason))) }
    }

    /// Ends every session politely on both sides, because the relay stops.
    package mutating func endAllSessions() {
        end(grants.keys.sorted())
    }

    /// Ends the sessions of one app politely on both sides, because it is to go.
    package mutating func endSessions(of app: App) {
        end((apps[app]?.sessions ?? []).sorted())
    }

    private mutating func end(_ sessions: [UInt8]) {
        for session in sessions {
            guard routes[session].phase == .open || routes[session].phase == .ending,
                let grant = grants[session]
            else { continue }
            if let owner = routes[session].owner {
                let end = Frame(
                    version: grant.version, type: .control, service: .rpc,
                    info: ControlFrameType.endService.rawValue, sessionID: session)
                actions.append(.toApp(end, owner))
            }
            sayGoodbye(session, unregister: true)
        }
    }

    /// No session is waiting for the head unit's confirmation that it has ended.
    package var hasSaidAllGoodbyes: Bool {
        !grants.keys.contains { routes[$0].phase == .farewell }
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

    /// Sessions the app owns, in the order of their grant.
    package func sessions(of app: App) -> [SessionGrant] {
        (apps[app]?.sessions ?? []).compactMap { grants[$0] }
    }

    /// The app waits for an answer to StartService, its own or the one before it.
    package func isStarting(_ app: App) -> Bool { starts.pending(of: app) > 0 }

    package var openSessions: Int { grants.keys.count { routes[$0].phase == .open } }
    package var farewellSessions: Int { grants.keys.count { routes[$0].phase == .farewell } }
    package var waitingStarts: Int { starts.waiting }
    package var isAwaitingAnswer: Bool { starts.isAwaitingAnswer }
    /// Sessions whose frames may be expected from the head unit.
    package var knownSessions: SessionSet {
        grants.keys.reduce(into: SessionSet()) { $0.insert($1) }
    }
}

extension TimeAmount {
    var secondsAsNumber: Double { Double(nanoseconds) / 1e9 }

    /// As people write it: 20, 0.5.
    var seconds: String {
        let value = Double(nanoseconds) / 1e9
        return value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}

extension ContiguousArray {
    /// Session IDs index tables of 256 entries.
    subscript(session: UInt8) -> Element {
        get { self[Int(session)] }
        set { self[Int(session)] = newValue }
    }
}
