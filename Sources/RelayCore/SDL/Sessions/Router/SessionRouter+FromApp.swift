// What the router decides about frames of apps, and how apps get their sessions: one StartService
// on the link at a time.

package import NIOCore
package import SDLProtocol

extension SessionRouter {
    /// Decides about a frame that an app sent.
    package mutating func receive(
        _ frame: Frame, from app: App, at now: NIODeadline
    ) -> Decision {
        if frame.type == .control {
            self.now = now
            return receiveControl(frame, from: app)
        }
        let session = Int(frame.sessionID)
        guard routes[session].owner == app,
            routes[session].phase == .open || mayAnswer(session: frame.sessionID)
        else {
            return refuse(frame, of: app)
        }
        if let messageID = frame.messageID, messageID > routes[session].highestMessageID {
            routes[session].highestMessageID = messageID
        }
        guard frame.type != .first, frame.payloadBytes <= routes[session].payloads.smallest,
            frame.payloadBytes > routes[session].examinedPayload,
            !OwnRequests.mayBeMeant(by: frame)
        else {
            return examine(frame, of: app)
        }
        return .toLink
    }

    /// Whether the session is the app's and takes data.
    package func isOpen(_ session: UInt8, of app: App) -> Bool {
        routes[session].owner == app
            && (routes[session].phase == .open || mayAnswer(session: session))
    }

    /// Whether the head unit has ended the session, and its app may still have something to send:
    /// libraries unregister. Not while the number may be granted to another app.
    private func mayAnswer(session: UInt8) -> Bool {
        routes[session].phase == .endedByAccessory && farewells[session]?.step == .awaitingApp
            && !starts.isAwaitingAnswer
    }

    /// Keeps frames off the link that would hurt all its apps (measured with sdl_core 8.2.0): a first
    /// frame that announces nothing, after which sdl_core never reads the connection again; one for
    /// whose announced size it reserves memory; a frame so large that it counts as malformed, of which
    /// the eleventh in a second closes the connection.
    @inline(never)
    private mutating func examine(_ frame: Frame, of app: App) -> Decision {
        let decision = judge(frame, of: app)
        guard case .toLink = decision else { return decision }
        if isInOwnStream(frame) { return .drop(.serviceOfRelay) }
        if !routes[frame.sessionID].isDriven { noteRange(frame) }
        guard routes[frame.sessionID].isDriven else { return decision }
        return noteDriven(frame, of: app)
    }

    private mutating func judge(_ frame: Frame, of app: App) -> Decision {
        let largest = routes[frame.sessionID].payloads[frame.service]
        guard frame.payloadBytes <= largest else {
            let reason = CloseReason.frameTooLarge(
                bytes: frame.payloadBytes, limit: Int(largest))
            actions.append(.close(app, reason))
            return .drop(.frameTooLarge)
        }
        if frame.type == .single, frame.service == .rpc { noteRegistration(frame) }
        guard let announced = Announcement(frame) else { return .toLink }
        guard announced.bytes > 0 else {
            actions.append(.close(app, .emptyMessage))
            return .drop(.emptyMessage)
        }
        let limit = configuration.messageBytes
        guard Int(announced.bytes) <= limit else {
            actions.append(.event(.messageTooLarge(app, bytes: Int(announced.bytes))))
            actions.append(
                .close(app, .messageTooLarge(bytes: Int(announced.bytes), limit: limit)))
            return .drop(.messageTooLarge)
        }
        return .toLink
    }

    /// Notes whether the app unregisters itself: a relay that stops, or sends the app away, need not
    /// do it again.
    ///
    /// v1 has no binary header to examine; there relayd does it again, and the refusal is swallowed.
    private mutating func noteRegistration(_ frame: Frame) {
        let session = frame.sessionID
        guard !frame.isEncrypted, let header = frame.rpcHeader, header.type == .request else {
            return
        }
        switch FunctionID(rawValue: header.functionID) {
        case .unregisterAppInterface:
            // Of two requests, the first is carried out and the second refused.
            if routes[session].ownUnregister == nil {
                routes[session].ownUnregister = header.correlationID
            }
            routes[session].isWatched = true
        case .registerAppInterface:
            routes[session].ownUnregister = nil
            routes[session].isUnregistered = false
            routes[session].examinedPayload =
                routes[session].isDriven || streams.isRelays(session) ? .max : Route.smallPayload
        default: break
        }
    }

    private mutating func refuse(_ frame: Frame, of app: App) -> Decision {
        guard isLinkUp else { return .drop(.noLink) }
        if routes[frame.sessionID].owner == app
            || apps[app]?.formerSessions.contains(frame.sessionID) == true
        {
            return .drop(.sessionOver(frame.sessionID))
        }
        let reason = DropReason.notItsSession(frame.sessionID)
        if configuration.foreignFrames == .close {
            actions.append(.close(app, .foreignFrame(session: frame.sessionID)))
        }
        return .drop(reason)
    }

    private mutating func receiveControl(_ frame: Frame, from app: App) -> Decision {
        let session = frame.sessionID
        let largest = min(
            configuration.controlPayloadBytes, Int(routes[session].payloads[.control]))
        guard frame.payloadBytes <= largest else {
            let reason = CloseReason.controlFrameTooLarge(
                bytes: Int(frame.payloadBytes), limit: largest)
            actions.append(.close(app, reason))
            return .drop(.frameTooLarge)
        }
        if frame.controlType == .startService, frame.service == .rpc, session == 0 {
            return requestSession(frame, for: app, at: now)
        }
        guard routes[session].owner == app else {
            if frame.controlType == .registerSecondaryTransport {
                let nak = Frame.registerSecondaryTransportNAK(
                    of: frame, reason: "relayd forwards all services on the primary transport")
                actions.append(.toApp(nak, app))
                return .drop(.secondaryTransport)
            }
            return refuse(frame, of: app)
        }
        switch (routes[session].phase, frame.controlType, frame.service) {
        case (.open, .startService, .rpc):
            routes[session].isUpgradePending = true
        case (.open, .endService, .rpc):
            checkHash(of: frame, from: app)
            endByApp(frame, of: app)
            return .handled
        case (.open, .endServiceACK, .rpc):
            // sdl_core looks at the hash alone: this would end the session, unnoticed by the router.
            return .drop(.endNotAsked(session))
        case (.open, .heartbeatACK, .control):
            heartbeats[session] = nil
        case (.open, _, _): break
        case (.endedByAccessory, .endService, .rpc)
        where farewells[session]?.step == .awaitingApp:
            checkHash(of: frame, from: app)
            endByApp(frame, of: app)
            return .handled
        case (.endedByAccessory, .endServiceACK, .rpc):
            return acknowledgedByApp(frame)
        default:
            return refuse(frame, of: app)
        }
        if frame.service.isStream, let decision = noteStreamControl(frame, of: app) {
            return decision
        }
        return .toLink
    }

    /// Version 1 knows no hash, and some head units grant none.
    private mutating func checkHash(of end: Frame, from app: App) {
        guard end.version > 1, let granted = grants[end.sessionID]?.hashID, granted != 0,
            let hash = WrongHash(end, expected: granted)
        else { return }
        actions.append(.event(.wrongHash(app, session: end.sessionID, hash)))
    }
}

// MARK: - Asking for a session: one StartService on the link at a time

extension SessionRouter {
    private mutating func requestSession(
        _ frame: Frame, for app: App, at now: NIODeadline
    ) -> Decision {
        guard apps[app]?.hasHungUp != true else { return .drop(.askerGone) }
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
        // Requests go in order: if any of them waits, so does this one.
        return starts.noteWaiting() ? .waits : .handled
    }

    /// Sends the next waiting StartService if none is on its way. Nothing in the answer names the app;
    /// only the order tells.
    mutating func sendNextStart(at now: NIODeadline) {
        guard isLinkUp, stopDeadline == nil, !isStartHeldByFarewell,
            let next = starts.sendNext(answerUntil: now + configuration.startServiceTimeout)
        else { return }
        if next.hasWaited { actions.append(.event(.startSent(next.app))) }
        if next.isRepeat {
            actions.append(.repeated(next.frame, of: next.app))
        } else {
            actions.append(.toLink(next.frame, from: .app(next.app)))
        }
    }

    /// The next moment `advance` has something to do. Mutating, as its parts are, only to avoid a copy of the router
    /// after each read.
    package var nextDeadline: NIODeadline? {
        mutating get {
            guard isLinkUp else { return starts.holdDeadline }
            return Self.earlier(
                Self.earlier(starts.answerDeadline, drivenDeadline),
                Self.earlier(farewellDeadline, heartbeatDeadline))
        }
    }

    private static func earlier(_ left: NIODeadline?, _ right: NIODeadline?) -> NIODeadline? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    /// Gives up what has waited too long.
    package mutating func advance(to now: NIODeadline) {
        self.now = now
        guard isLinkUp else { return refuseHeld() }
        advanceFarewells()
        advanceHeartbeats()
        advanceDriven()
        guard let given = starts.giveUpAnswer(at: now) else { return }
        let reason =
            "the head unit did not answer StartService for "
            + "\(configuration.startServiceTimeout.seconds) s"
        if let app = given.app {
            actions.append(.toApp(.startServiceNAK(of: given.frame, reason: reason), app))
            actions.append(.event(.startServiceUnanswered(app)))
        }
        takeTurns()
        sendNextStart(at: now)
    }

    private mutating func refuseHeld() {
        for held in starts.giveUpHeld(at: now) {
            let reason = "no head unit was connected within \(configuration.holdTimeout.seconds) s"
            actions.append(.toApp(.startServiceNAK(of: held.frame, reason: reason), held.app))
            actions.append(.close(held.app, .noAccessory(waited: configuration.holdTimeout)))
        }
    }
}
