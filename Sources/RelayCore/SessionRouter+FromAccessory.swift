// What the router decides about frames of the head unit: grants, refusals, ends, and all the rest
// by session.

package import NIOCore
package import SDLProtocol

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
        actions.append(.event(.sessionRefused(app, inUse: grants.count)))
        return .toApp(app)
    }
}
