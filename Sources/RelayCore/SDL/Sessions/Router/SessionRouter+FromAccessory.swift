// What the router decides about frames of the head unit: grants, refusals and ends, and all other
// frames by session.

package import NIOCore
package import SDLProtocol

extension SessionRouter {
    /// Decides about a frame that the head unit sent.
    package mutating func receiveFromAccessory(_ frame: Frame, at now: NIODeadline) -> Decision {
        let type = frame.type
        // One branch for most frames.
        if type != .single {
            if type != .control { return receivePart(frame, at: now) }
            self.now = now
            return receiveControlFromAccessory(frame)
        }
        if routes[frame.sessionID].isWatched, let decision = inspect(frame, at: now) {
            return decision
        }
        return deliver(frame)
    }

    /// Decides about a first or consecutive frame: nothing may be sent to the app inside its message.
    private mutating func receivePart(_ frame: Frame, at now: NIODeadline) -> Decision {
        let inspected = routes[frame.sessionID].isWatched ? inspect(frame, at: now) : nil
        let decision = inspected ?? deliver(frame)
        if case .toApp = decision { injections.delivered(frame, at: now) }
        if !injections.isEmpty, frame.type == .consecutive, frame.info == 0 {
            self.now = now
            sayInjections()
        }
        return decision
    }

    /// Mutating only to avoid a copy of the router for each frame.
    private mutating func deliver(_ frame: Frame) -> Decision {
        if let owner = routes[frame.sessionID].owner { return .toApp(owner) }
        return undeliverable(frame.sessionID)
    }

    @inline(never)
    private func undeliverable(_ session: UInt8) -> Decision {
        .drop(routes[session].phase == .farewell ? .farewell(session) : .noSuchSession(session))
    }

    /// Examines a frame, not a control frame, of a session that is watched; `Route.isWatched` has the
    /// reasons.
    ///
    /// - Returns: Nil when the frame is to be delivered as it came.
    @inline(never)
    private mutating func inspect(_ original: Frame, at now: NIODeadline) -> Decision? {
        self.now = now
        let session = original.sessionID
        let isDriven =
            routes[session].isDriven || ownRequests.owes(session) || drivenAnswers.isHalf(session)
        if isDriven, original.type != .single, let decision = inspectPart(original) {
            return decision
        }
        if let request = ownRequests.answered(by: original, at: now) {
            switch request.kind {
            case .asked, .late:
                tell(Message(single: original), to: request)
                return .drop(.answersRelay)
            case .messageEnd, .unregister:
                answered(request)
                return .drop(.farewell(session))
            }
        }
        var restored: Frame?
        if routes[session].isDriven, original.type == .single, original.service.carriesRPC,
            !original.isEncrypted, let header = RPCHeader(original.payload)
        {
            if isRepeated(header, in: session) { return .drop(.answersRelay) }
            restored = restore(original, header)
        }
        let frame = restored ?? original
        if let half = halves.noteRefusal(frame, at: now) {
            if half.isEnding {
                answered(answer(to: half))
                return .drop(.farewell(session))
            }
            tellPaused(half)
        }
        if let correlationID = routes[session].ownUnregister,
            frame.answersUnregister(correlationID)
        {
            routes[session].ownUnregister = nil
            if frame.tellsSuccess {
                routes[session].isUnregistered = true
                // The next registration must not be missed.
                routes[session].examinedPayload = .max
            }
        }
        guard isRecentlyEnded(session) else {
            routes[session].formerEnd = nil
            routes[session].isWatched =
                ownRequests.owes(session) || routes[session].ownUnregister != nil
                || halves.awaitsAnswer(session) || routes[session].isDriven
                || drivenAnswers.isHalf(session)
            return passOn(restored)
        }
        if routes[session].phase == .free { return .drop(.lateWords(session)) }
        // sdl_core numbers the messages of a session from 1 and uses 0 for what it still sends in a
        // session that is over. In multi-frame messages it cuts the number to 8 bits.
        guard frame.type == .single, frame.messageID == 0 else { return passOn(restored) }
        return .drop(.lateWords(session))
    }

    /// Passes on the head unit's frame with its app's correlation ID restored; with nil, the frame
    /// goes on as it came.
    private mutating func passOn(_ restored: Frame?) -> Decision? {
        guard let restored, let owner = routes[restored.sessionID].owner else { return nil }
        actions.append(.pass(restored, to: owner))
        return .handled
    }

    /// Whether late words of the number's former session may still come.
    private func isRecentlyEnded(_ session: UInt8) -> Bool {
        routes[session].formerEnd.map { now - $0 < configuration.lateWordsWindow } ?? false
    }

    private mutating func receiveControlFromAccessory(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        grantMeaning = .nothing
        if frame.service.isStream, let decision = receiveStreamControl(frame) { return decision }
        switch (frame.controlType, frame.service) {
        case (.startServiceACK, .rpc):
            return receiveGrant(frame)
        case (.startServiceNAK, .rpc):
            return receiveRefusal(frame)
        case (.startServiceACK, _):
            learnPayload(frame)
            return deliver(frame)
        case (.endService, .rpc):
            let decision = deliver(frame)
            endByAccessory(session)
            return decision
        case (.endServiceACK, .rpc), (.endServiceNAK, .rpc):
            return receiveEndAnswer(frame)
        case (.heartbeat, .control):
            return receiveHeartbeat(frame)
        case (.transportEventUpdate, _):
            return receiveTransportUpdate(frame)
        default:
            return deliver(frame)
        }
    }

    /// An update with an empty address says that there is no second transport any more.
    private mutating func receiveTransportUpdate(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        let isPassedOn = configuration.secondaryTransports == .pass
        if let owner = routes[session].owner,
            ControlPayload(frame).document?.string(ControlKey.tcpIPAddress) != ""
        {
            actions.append(
                .event(
                    .secondaryTransportOffered(owner, session: session, isPassedOn: isPassedOn)))
        }
        return isPassedOn ? deliver(frame) : .drop(.secondaryTransport)
    }

    /// Whether the frame answers a request to protect a running service: its ACK carries hash 0, and
    /// the first hash stays valid.
    private func isUpgradeAnswer(_ frame: Frame) -> Bool {
        let session = frame.sessionID
        guard routes[session].isUpgradePending, routes[session].phase == .open else { return false }
        let isGrant = !frame.isEncrypted && (ControlPayload(frame).hashID ?? 0) != 0
        return !(isGrant && starts.isAwaitingAnswer)
    }

    private mutating func receiveGrant(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        if let owner = routes[session].owner, isUpgradeAnswer(frame) {
            routes[session].isUpgradePending = false
            grantMeaning = .protects
            return .toApp(owner)
        }
        guard session != 0 else { return .drop(.noSuchSession(0)) }
        let (app, isDue) = starts.takeAnswer(frame, at: now)
        defer {
            takeTurns()
            sendNextStart(at: now)
        }
        // Nobody asked: in a session that goes on, the grant changes nothing, like a late answer to a
        // request for protection. After a session's end it opens a new one, of which nobody knows.
        if !isDue, let owner = routes[session].owner, routes[session].phase == .open {
            return .toApp(owner)
        }
        if let owner = routes[session].owner, owner != app, routes[session].phase != .ended {
            actions.append(.event(.sessionEnded(owner, session: session)))
        }
        let former = takeOver(session, grant: SessionGrant(frame), isClaimed: app != nil)
        guard let app else {
            routes[session].phase = .farewell
            beginFarewell(session, Farewell(step: .draining, app: former, isUnclaimed: true))
            return .drop(.lateAnswer)
        }
        grantMeaning = .opens
        routes[session].owner = app
        routes[session].phase = .open
        apps[app]?.sessions.append(session)
        learnPayload(frame)
        actions.append(.event(.sessionOpened(app, SessionGrant(frame))))
        guard let amended = frame.withoutSecondaryTransportOffers() else { return .toApp(app) }
        let isPassedOn = configuration.secondaryTransports == .pass
        if !isPassedOn { actions.append(.amended(amended, to: app)) }
        actions.append(
            .event(.secondaryTransportOffered(app, session: session, isPassedOn: isPassedOn)))
        return isPassedOn ? .toApp(app) : .handled
    }

    /// Learns the largest frame a service of the session may have. What `mtu` counts is not agreed;
    /// no reading allows a larger payload, and sdl_core counts one as malformed. An mtu that leaves
    /// no room for any frame counts as none: the advice reports it, and no app is closed for it.
    mutating func learnPayload(_ ack: Frame) {
        let session = ack.sessionID
        if ack.version >= 5, let mtu = ControlPayload(ack).mtu {
            routes[session].payloads[ack.service] = UInt32(clamping: mtu)
        } else if ack.service == .rpc {
            let configured = configuration.maximumPayloadBytes
            routes[session].payloads[.rpc] =
                configured > FrameRules.defaultMaximumPayloadBytes
                ? UInt32(clamping: configured) : Self.largestPayload
        }
    }

    /// The limit of v3 and later, when the head unit names none (SDL protocol spec, "MTU").
    private static var largestPayload: UInt32 { 131_072 }

    private mutating func receiveRefusal(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        // A refused new session has no number (SDL protocol spec, "Sessions").
        if session != 0, let owner = routes[session].owner {
            routes[session].isUpgradePending = false
            return .toApp(owner)
        }
        if session != 0, routes[session].phase == .farewell { return .drop(.farewell(session)) }
        // Some head units refuse with a number, but not with one whose app asked for protection a
        // moment ago and left.
        if session != 0, isRecentlyEnded(session) { return .drop(.lateWords(session)) }
        let (app, _) = starts.takeAnswer(frame, at: now)
        defer {
            takeTurns()
            sendNextStart(at: now)
        }
        guard let app else { return .drop(.lateAnswer) }
        actions.append(.event(.sessionRefused(app, inUse: grants.count)))
        return .toApp(app)
    }
}
