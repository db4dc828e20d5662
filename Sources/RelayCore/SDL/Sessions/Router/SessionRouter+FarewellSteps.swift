// How the router says a goodbye, step by step: each frame when the one before is answered.

package import NIOCore
package import SDLProtocol

extension SessionRouter {
    mutating func beginFarewell(_ session: UInt8, _ farewell: Farewell<App>) {
        farewells[session] = farewell
        drain(session)
    }

    mutating func drain(_ session: UInt8) {
        farewells[session]?.step = .draining
        farewells[session]?.deadline = nil
        actions.append(.drain(session))
    }

    /// Called when no frame of this session waits for the link any more.
    package mutating func drained(_ session: UInt8, at now: NIODeadline) {
        self.now = now
        guard farewells[session]?.step == .draining else { return }
        endHalfMessages(of: session)
        guard let farewell = farewells[session] else { return }
        if farewell.answersDue > 0 {
            farewells[session]?.step = .endingMessages
            // Only answers to messages that the app has finished itself are due.
            if halves.count(of: session) == 0 { startPatience(of: session) }
        } else {
            unregister(session)
        }
    }

    mutating func unregister(_ session: UInt8) {
        guard let grant = grants[session], let farewell = farewells[session] else {
            return release(session)
        }
        guard farewell.unregisters, farewell.ownEnd == nil || routes[session].owner == nil,
            !routes[session].isUnregistered
        else { return afterUnregister(session) }
        farewells[session]?.step = .unregistering
        farewells[session]?.deadline = nil
        if let correlationID = routes[session].ownUnregister {
            // The app has sent Unregister already, and has not been answered.
            ownRequests.add(
                .init(
                    session: session, kind: .unregister, correlationID: correlationID,
                    expectedUntil: now + OwnRequests.patience))
            return startPatience(of: session)
        }
        let goodbye =
            grant.version == 1
            ? Frame.rpcV1(
                sessionID: session, type: .request, name: "UnregisterAppInterface",
                correlationID: Self.farewellCorrelationID)
            : Frame.rpc(
                version: grant.version, sessionID: session, messageID: nextMessageID(of: session),
                type: .request, functionID: FunctionID.unregisterAppInterface.rawValue,
                correlationID: Self.farewellCorrelationID)
        actions.append(.toLink(goodbye, from: .relay))
    }

    /// A message ID larger than any the app used, so that no unfinished message is continued.
    mutating func nextMessageID(of session: UInt8) -> UInt32 {
        let next =
            routes[session].highestMessageID < .max ? routes[session].highestMessageID + 1 : 1
        routes[session].highestMessageID = next
        return next
    }

    mutating func afterUnregister(_ session: UInt8) {
        guard farewells[session]?.mustHold == true, stopDeadline == nil else {
            farewells[session]?.step = .waitingTurn
            farewells[session]?.deadline = nil
            return takeTurns()
        }
        farewells[session]?.mustHold = false
        farewells[session]?.step = .holding
        farewells[session]?.deadline = now + configuration.encryptedHold
    }

    /// Sends EndService where nothing has to be waited for.
    mutating func takeTurns() {
        guard farewells.contains(where: { $0.value.step == .waitingTurn }) else { return }
        for session in farewells.keys.sorted() where farewells[session]?.step == .waitingTurn {
            guard let farewell = farewells[session], mayEnd(farewell) else { continue }
            sayEnd(session, farewell)
        }
    }

    private func mayEnd(_ farewell: Farewell<App>) -> Bool {
        // The head unit may grant the number to the app that waits for an answer, with the same
        // hash: an EndService after that grant would end the wrong session.
        if farewell.answersHeadUnit, starts.isAwaitingAnswer, stopDeadline == nil { return false }
        guard farewell.isOfStop, let stopDeadline, now < stopDeadline else { return true }
        return farewells.allSatisfy { !$0.value.isOfStop || $0.value.isReadyToEnd }
    }

    mutating func sayEnd(_ session: UInt8, _ farewell: Farewell<App>) {
        guard let grant = grants[session] else { return release(session) }
        farewells[session]?.step = .ending
        farewells[session]?.deadline = nil
        if let own = farewell.ownEnd, let app = farewell.app {
            actions.append(.toLink(own, from: .app(app)))
            guard farewell.isAcknowledged, !frees(own, grant) else { return }
            farewells[session]?.ownEnd = nil
        }
        // Without the hash sdl_core takes only the oldest form of EndService, which has none.
        let version = grant.hashID == 0 ? 1 : grant.version
        let end = Frame.endService(
            version: version, sessionID: session, hashID: grant.hashID,
            messageID: version == 1 ? 0 : nextMessageID(of: session))
        actions.append(.toLink(end, from: .relay))
        actions.append(.event(.farewell(session: session)))
    }

    /// Whether the acknowledgement ends the session, because it has the hash.
    private func frees(_ acknowledgement: Frame, _ grant: SessionGrant) -> Bool {
        grant.version > 1 && grant.hashID != 0
            && ControlPayload(acknowledgement).hashID == grant.hashID
    }

    /// Notes that a frame of relayd's own, or a control frame of an app, has been written to the
    /// link.
    package mutating func wrote(_ frame: Frame, at now: NIODeadline) {
        let session = frame.sessionID
        guard let farewell = farewells[session], farewell.isSaid(by: frame) else { return }
        self.now = now
        if farewell.step == .unregistering { expectUnregistered(session) }
        guard farewell.step == .ending else { return startPatience(of: session) }
        farewells[session]?.isEndWritten = true
        if farewell.isAcknowledged {
            // Nobody answers it.
            conclude(session)
            takeTurns()
        } else if farewell.ownEnd == nil || routes[session].owner == nil {
            // Otherwise the app itself waits for the answer to its own EndService.
            startPatience(of: session)
        }
        sendNextStart(at: now)
    }

    /// Expects the answer only once the request is written: while it waits, it may be dropped with
    /// everything else of its session.
    private mutating func expectUnregistered(_ session: UInt8) {
        ownRequests.add(
            .init(
                session: session, kind: .unregister, correlationID: Self.farewellCorrelationID))
        routes[session].isWatched = true
    }

    /// Ends the goodbye; the number is then free unless its app is still there.
    mutating func conclude(_ session: UInt8) {
        guard let owner = routes[session].owner else { return release(session) }
        farewells[session] = nil
        markEnded(session, of: owner)
    }

    mutating func startPatience(of session: UInt8) {
        guard let step = farewells[session]?.step,
            var patience = Farewell<App>.patience(in: step, configuration)
        else { return }
        if step == .endingMessages, farewells[session]?.isOfStop == true, let stopDeadline {
            // The answer to Unregister needs some of the time as well.
            patience = min(patience, .nanoseconds(max(0, (stopDeadline - now).nanoseconds / 2)))
        }
        farewells[session]?.deadline = now + patience
    }

    /// Whether StartServices wait because the head unit may grant a number that is about to be
    /// ended.
    var isStartHeldByFarewell: Bool {
        farewells.contains { $0.value.answersHeadUnit && !$0.value.isEndWritten }
    }
}
