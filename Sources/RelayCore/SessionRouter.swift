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

    package private(set) var actions: [Action] = []
    package private(set) var isLinkUp = false

    private let configuration: RelayConfiguration
    private var routes = ContiguousArray<Route>(repeating: Route(), count: 256)
    private var grants: [UInt8: SessionGrant] = [:]
    private var apps: [App: AppState] = [:]
    private var starts = StartServiceQueue<App>()

    package init(configuration: RelayConfiguration) {
        self.configuration = configuration
    }

    /// What is known of a session ID; small, because every frame looks here.
    private struct Route {
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

    private struct AppState {
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
    private mutating func sayGoodbye(_ session: UInt8, unregister: Bool) {
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

    private mutating func release(_ session: UInt8) {
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
        for session in grants.keys.sorted() {
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

// MARK: - App → accessory

extension SessionRouter {
    /// Decides about a frame that an app sent.
    package mutating func receive(
        _ frame: Frame, from app: App, at now: NIODeadline
    ) -> Decision {
        if frame.type == .control { return receiveControl(frame, from: app, at: now) }
        let session = Int(frame.sessionID)
        guard routes[session].owner == app, routes[session].phase != .ended else {
            return refuse(frame, of: app)
        }
        if let messageID = frame.messageID, messageID > routes[session].highestMessageID {
            routes[session].highestMessageID = messageID
        }
        return .toLink
    }

    private mutating func refuse(_ frame: Frame, of app: App) -> Decision {
        guard isLinkUp else { return .drop(.noLink) }
        let reason = DropReason.notItsSession(frame.sessionID)
        if configuration.foreignFrames == .close {
            actions.append(.close(app, .foreignFrame(session: frame.sessionID)))
        }
        return .drop(reason)
    }

    private mutating func receiveControl(
        _ frame: Frame, from app: App, at now: NIODeadline
    ) -> Decision {
        let session = frame.sessionID
        if frame.controlType == .startService, frame.service == .rpc, session == 0 {
            return requestSession(frame, for: app, at: now)
        }
        guard routes[session].owner == app, routes[session].phase != .ended else {
            if frame.controlType == .registerSecondaryTransport {
                let nak = Frame.registerSecondaryTransportNAK(
                    of: frame, reason: "relayd forwards all services on the primary transport")
                actions.append(.toApp(nak, app))
                return .drop(.secondaryTransport)
            }
            return refuse(frame, of: app)
        }
        switch (frame.controlType, frame.service) {
        case (.startService, .rpc):
            routes[session].isUpgradePending = true
        case (.endService, .rpc):
            if routes[session].phase == .open { routes[session].phase = .ending }
            adviseOnEnd(frame, from: app)
        default: break
        }
        return .toLink
    }

    private mutating func adviseOnEnd(_ frame: Frame, from app: App) {
        guard frame.version > 1, let granted = grants[frame.sessionID]?.hashID else { return }
        let sent = ControlPayload(frame).hashID ?? 0
        guard sent != granted else { return }
        actions.append(.event(.wrongHash(app, session: frame.sessionID, sent: sent)))
    }
}

// MARK: - Asking for a session: one StartService on the link at a time

extension SessionRouter {
    private mutating func requestSession(
        _ frame: Frame, for app: App, at now: NIODeadline
    ) -> Decision {
        if !isLinkUp, configuration.whenAccessoryAbsent == .refuse {
            let reason = "no head unit is connected to relayd"
            actions.append(.toApp(.startServiceNAK(of: frame, reason: reason), app))
            actions.append(.close(app, .noAccessory(waited: nil)))
            return .drop(.noLink)
        }
        guard starts.pending(of: app) < configuration.maximumPendingStartsPerApp else {
            let reason = "too many StartServices of this connection are waiting"
            actions.append(.toApp(.startServiceNAK(of: frame, reason: reason), app))
            return .drop(.queueFull)
        }
        starts.append(frame, of: app, holdUntil: now + configuration.holdTimeout)
        sendNextStart(at: now)
        return .handled
    }

    /// Sends the next waiting StartService if none is on its way. Nothing in the answer names the
    /// asker; only order does.
    private mutating func sendNextStart(at now: NIODeadline) {
        guard isLinkUp,
            let next = starts.sendNext(answerUntil: now + configuration.startServiceTimeout)
        else { return }
        actions.append(.toLink(next.frame, from: next.app))
    }

    /// The next moment `advance` has something to do.
    package var nextDeadline: NIODeadline? {
        isLinkUp ? starts.answerDeadline : starts.holdDeadline
    }

    /// Gives up what has waited too long.
    package mutating func advance(to now: NIODeadline) {
        if isLinkUp {
            guard let given = starts.giveUpAnswer(at: now) else { return }
            let reason =
                "the head unit did not answer StartService for "
                + "\(configuration.startServiceTimeout.seconds) s"
            if let app = given.app {
                actions.append(.toApp(.startServiceNAK(of: given.frame, reason: reason), app))
                actions.append(.event(.startServiceUnanswered(app)))
            }
            sendNextStart(at: now)
        } else {
            for held in starts.giveUpHeld(at: now) {
                let reason = "no head unit came within \(configuration.holdTimeout.seconds) s"
                actions.append(.toApp(.startServiceNAK(of: held.frame, reason: reason), held.app))
                actions.append(.close(held.app, .noAccessory(waited: configuration.holdTimeout)))
            }
        }
    }
}

// MARK: - Accessory → app

extension SessionRouter {
    /// Decides about a frame that the head unit sent.
    package mutating func receiveFromAccessory(_ frame: Frame, at now: NIODeadline) -> Decision {
        if frame.type == .control { return receiveControlFromAccessory(frame, at: now) }
        let session = frame.sessionID
        if routes[session].owesFarewellReply, isFarewellReply(frame) {
            routes[session].owesFarewellReply = false
            return .drop(.farewell(session))
        }
        return deliver(frame)
    }

    private func deliver(_ frame: Frame) -> Decision {
        let session = Int(frame.sessionID)
        if let owner = routes[session].owner { return .toApp(owner) }
        return .drop(
            routes[session].phase == .farewell
                ? .farewell(frame.sessionID) : .noSuchSession(frame.sessionID))
    }

    /// The one RPC the router looks into, and only while a goodbye is unanswered: real head units
    /// answered a minute late, when the session ID had long been another app's.
    private func isFarewellReply(_ frame: Frame) -> Bool {
        guard frame.type == .single, !frame.isEncrypted, let header = RPCHeader(frame.payload)
        else { return false }
        return header.type == .response
            && header.functionID == FunctionID.unregisterAppInterface.rawValue
            && header.correlationID == Self.farewellCorrelationID
    }

    private mutating func receiveControlFromAccessory(
        _ frame: Frame, at now: NIODeadline
    ) -> Decision {
        let session = frame.sessionID
        switch (frame.controlType, frame.service) {
        case (.startServiceACK, .rpc):
            return receiveGrant(frame, at: now)
        case (.startServiceNAK, .rpc):
            return receiveRefusal(frame, at: now)
        case (.endService, .rpc):
            if routes[session].owner != nil { routes[session].phase = .endedByAccessory }
            return deliver(frame)
        case (.endServiceACK, .rpc), (.endServiceNAK, .rpc):
            return receiveEndAnswer(frame)
        case (.transportEventUpdate, _):
            let isPassedOn = configuration.secondaryTransports == .pass
            actions.append(
                .event(.secondaryTransportOffered(session: session, isPassedOn: isPassedOn)))
            return isPassedOn ? deliver(frame) : .drop(.secondaryTransport)
        default:
            return deliver(frame)
        }
    }

    private mutating func receiveEndAnswer(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        let decision = deliver(frame)
        switch (routes[session].phase, frame.controlType) {
        case (.farewell, _): release(session)
        case (.ending, .endServiceACK): routes[session].phase = .ended
        case (.ending, .endServiceNAK): routes[session].phase = .open
        default: break
        }
        return decision
    }

    private mutating func receiveGrant(_ frame: Frame, at now: NIODeadline) -> Decision {
        let session = frame.sessionID
        if let owner = routes[session].owner, routes[session].isUpgradePending {
            // Protection of a running service; its ACK carries hash 0, the first one stays valid.
            routes[session].isUpgradePending = false
            return .toApp(owner)
        }
        guard session != 0 else { return .drop(.noSuchSession(0)) }
        let (app, isDue) = starts.takeAnswer()
        defer { sendNextStart(at: now) }
        if !isDue, let owner = routes[session].owner { return .toApp(owner) }
        takeOver(session, grant: SessionGrant(frame))
        guard let app else {
            sayGoodbye(session, unregister: false)
            return .drop(.lateAnswer)
        }
        routes[session].owner = app
        routes[session].phase = .open
        apps[app]?.sessions.append(session)
        actions.append(.event(.sessionOpened(app, SessionGrant(frame))))
        guard let amended = frame.withoutSecondaryTransportOffers() else { return .toApp(app) }
        let isPassedOn = configuration.secondaryTransports == .pass
        actions.append(
            .event(.secondaryTransportOffered(session: session, isPassedOn: isPassedOn)))
        if isPassedOn { return .toApp(app) }
        actions.append(.amended(amended, to: app))
        return .handled
    }

    /// The head unit reuses an ID at once after a session's end, whether or not we saw the end.
    private mutating func takeOver(_ session: UInt8, grant: SessionGrant) {
        if let former = routes[session].owner, routes[session].phase == .open {
            actions.append(.event(.sessionReassigned(from: former, session: session)))
        }
        release(session)
        grants[session] = grant
    }

    private mutating func receiveRefusal(_ frame: Frame, at now: NIODeadline) -> Decision {
        let session = frame.sessionID
        if let owner = routes[session].owner, routes[session].isUpgradePending {
            routes[session].isUpgradePending = false
            return .toApp(owner)
        }
        let (app, _) = starts.takeAnswer()
        defer { sendNextStart(at: now) }
        guard let app else { return .drop(.lateAnswer) }
        return .toApp(app)
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
    /// As people write it: 20, 0.5.
    var seconds: String {
        let value = Double(nanoseconds) / 1e9
        return value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}

extension ContiguousArray {
    /// Session IDs index tables of 256 entries.
    fileprivate subscript(session: UInt8) -> Element {
        get { self[Int(session)] }
        set { self[Int(session)] = newValue }
    }
}
