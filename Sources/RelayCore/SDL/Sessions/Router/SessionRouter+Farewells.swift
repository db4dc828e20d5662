// How the router ends sessions: who wants the end, what the head unit answers, and what is given up.
// The steps of a goodbye are in +FarewellSteps.

package import NIOCore
import SDLProtocol

// MARK: - Who wants it

extension SessionRouter {
    /// Ends a session whose owner's connection is gone. The head unit is to treat that as a crash,
    /// which it was, and to keep what the app needs to resume.
    mutating func leave(_ session: UInt8) {
        switch routes[session].phase {
        case .open where isLinkUp:
            let farewell = Farewell(step: .draining, app: routes[session].owner)
            depart(session)
            beginFarewell(session, farewell)
        case .ending where isLinkUp, .endedByAccessory where isLinkUp:
            let step = farewells[session]?.step
            depart(session)
            if step == nil {
                beginFarewell(session, Farewell(step: .draining))
            } else {
                goOnWithoutApp(session)
            }
        default:
            release(session)
        }
    }

    /// Continues a goodbye that waited for the app, or, with the app, for the answer to its own
    /// EndService, which may never come.
    private mutating func goOnWithoutApp(_ session: UInt8) {
        switch farewells[session]?.step {
        case .awaitingApp: drain(session)
        // Otherwise the wait begins when EndService is written: while it waits for a busy link, the
        // number is not free.
        case .ending where farewells[session]?.isEndWritten == true: startPatience(of: session)
        default: break
        }
    }

    /// Detaches the session from its app: what the head unit still sends reaches nobody.
    mutating func depart(_ session: UInt8) {
        answerHeartbeat(of: session)
        if let owner = routes[session].owner {
            apps[owner]?.sessions.removeAll { $0 == session }
            apps[owner]?.formerSessions.insert(session)
        }
        routes[session].owner = nil
        routes[session].phase = .farewell
        routes[session].isUpgradePending = false
        giveUpStreams(in: session)
    }

    /// Ends every session politely on both sides, because the relay stops: all apps are
    /// unregistered; then, when all answers have come or half of `farewellTimeout` is over, all
    /// sessions are ended.
    package mutating func endAllSessions(at now: NIODeadline) {
        self.now = now
        stopDeadline = now + .nanoseconds(configuration.farewellTimeout.nanoseconds / 2)
        let sessions = grants.keys.sorted()
        for session in sessions where farewells[session] != nil {
            farewells[session]?.isOfStop = true
        }
        end(sessions, isStop: true)
        // Some goodbyes have waited for a StartService that is not waited for any more.
        takeTurns()
    }

    /// Ends the sessions of one app politely on both sides, because it is to go.
    package mutating func endSessions(of app: App, at now: NIODeadline) {
        self.now = now
        end((apps[app]?.sessions ?? []).sorted(), isStop: false)
    }

    mutating func end(_ sessions: [UInt8], isStop: Bool) {
        for session in sessions {
            guard let grant = grants[session], let owner = routes[session].owner else { continue }
            switch routes[session].phase {
            case .open, .ending, .endedByAccessory: break
            case .free, .ended, .farewell: continue
            }
            if routes[session].phase != .endedByAccessory {
                let end = Frame(
                    version: grant.version, type: .control, service: .rpc,
                    info: ControlFrameType.endService.rawValue, sessionID: session)
                actions.append(.toApp(end, owner))
            }
            let isOpen = routes[session].phase == .open
            depart(session)
            guard isOpen || farewells[session] == nil else {
                goOnWithoutApp(session)
                continue
            }
            var farewell = Farewell(step: .draining, app: owner)
            farewell.unregisters = true
            farewell.isOfStop = isStop
            beginFarewell(session, farewell)
        }
    }

    /// Ends a session at its app's wish: the app has sent everything, and its frames go out before
    /// the end.
    mutating func endByApp(_ frame: Frame, of app: App) {
        let session = frame.sessionID
        answerHeartbeat(of: session)
        routes[session].phase = .ending
        routes[session].isUpgradePending = false
        giveUpStreams(in: session)
        var farewell = farewells[session] ?? Farewell(step: .draining, app: app)
        farewell.ownEnd = frame
        farewell.deadline = nil
        beginFarewell(session, farewell)
    }

    /// Handles the head unit's end of a session. sdl_core may hold on to the session, and to the
    /// registration of its app, until it has heard EndService with the hash.
    mutating func endByAccessory(_ session: UInt8) {
        guard
            routes[session].phase == .open || routes[session].phase == .ending
                || routes[session].phase == .farewell
        else { return }
        routes[session].isUpgradePending = false
        heartbeats[session] = nil
        if let farewell = farewells[session] {
            farewells[session]?.answersHeadUnit = true
            // Later steps have only relayd's own frames to send.
            guard farewell.step == .draining else { return }
            actions.append(.purge(session))
            return drain(session)
        }
        actions.append(.purge(session))
        routes[session].phase = .endedByAccessory
        giveUpStreams(in: session)
        var farewell = Farewell(step: .awaitingApp, app: routes[session].owner)
        farewell.answersHeadUnit = true
        farewell.deadline = now + configuration.endAnswerTimeout
        farewells[session] = farewell
    }

    /// Handles the app's acknowledgement of the head unit's EndService. With the hash it ends the
    /// session, or the next one with its number, as EndService does, so it is sent when EndService
    /// would be. Without the hash, relayd's EndService follows it.
    mutating func acknowledgedByApp(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        guard farewells[session]?.step == .awaitingApp else { return .drop(.sessionOver(session)) }
        farewells[session]?.ownEnd = frame
        drain(session)
        return .handled
    }
}

// MARK: - Answers

extension SessionRouter {
    /// Handles the head unit's answer to one of the relay's own requests.
    mutating func answered(_ request: OwnRequests.Request) {
        guard let farewell = farewells[request.session] else { return }
        switch (request.kind, farewell.step) {
        case (.messageEnd, .endingMessages):
            farewells[request.session]?.answersDue = max(0, farewell.answersDue - 1)
            if farewell.answersDue <= 1 { unregister(request.session) }
        case (.unregister, .unregistering):
            afterUnregister(request.session)
        default: break
        }
    }

    mutating func receiveEndAnswer(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        if strayEnds.takeAnswer(of: session, at: now) { return strayEndAnswered(frame) }
        guard let farewell = farewells[session], farewell.step == .ending, farewell.isEndWritten
        else {
            // The answer is for a session that has ended, whoever has the number now; an EndService
            // that still waits for the link has no answer.
            return .drop(.lateWords(session))
        }
        let isRefused = frame.controlType == .endServiceNAK
        defer {
            takeTurns()
            sendNextStart(at: now)
        }
        if !isRefused {
            ownRequests.sessionEnded(session, lateWordsUntil: now + configuration.lateWordsWindow)
            giveUpAsked(in: session)
        }
        let wasAsked = farewell.ownEnd != nil
        guard let owner = routes[session].owner else {
            if isRefused, wasAsked { endInstead(session) } else { release(session) }
            return .drop(.farewell(session))
        }
        if isRefused, wasAsked, farewell.answersHeadUnit {
            endInstead(session)
        } else {
            farewells[session] = nil
            if isRefused && wasAsked {
                routes[session].phase = .open
            } else {
                markEnded(session, of: owner)
            }
        }
        return wasAsked ? .toApp(owner) : .drop(.farewell(session))
    }

    /// Notes a session that is over while its EndService, if it was written, has no answer yet: what
    /// the head unit does with the EndService is not known. Where the head unit has not ended the
    /// session by itself, its next grant shows that it has carried out the EndService.
    mutating func noteStrayEnd(of session: UInt8) {
        guard let farewell = farewells[session], farewell.answersHeadUnit, farewell.isEndWritten
        else { return }
        strayEnds.add(session, at: now)
    }

    /// Handles the answer to the EndService of a former session of the number: unless the head unit
    /// refused, that EndService has ended the present session.
    private mutating func strayEndAnswered(_ frame: Frame) -> Decision {
        let session = frame.sessionID
        guard frame.controlType == .endServiceACK else { return .drop(.lateWords(session)) }
        switch routes[session].phase {
        case .free, .ended: return .drop(.lateWords(session))
        case .open, .ending, .endedByAccessory, .farewell: break
        }
        defer {
            takeTurns()
            sendNextStart(at: now)
        }
        actions.append(.purge(session))
        if farewells[session]?.isEndWritten == true { strayEnds.add(session, at: now) }
        ownRequests.sessionEnded(session, lateWordsUntil: now + configuration.lateWordsWindow)
        giveUpAsked(in: session)
        guard let owner = routes[session].owner else {
            release(session)
            return .drop(.farewell(session))
        }
        farewells[session] = nil
        heartbeats[session] = nil
        markEnded(session, of: owner)
        return .toApp(owner)
    }

    /// Marks the session as over; late frames of the head unit still reach the app.
    mutating func markEnded(_ session: UInt8, of owner: App) {
        routes[session].phase = .ended
        actions.append(.event(.sessionEnded(owner, session: session)))
    }

    /// Ends the session after the app's own EndService was refused: relayd knows the hash.
    mutating func endInstead(_ session: UInt8) {
        farewells[session]?.ownEnd = nil
        // The app's EndService has been answered.
        farewells[session]?.isEndWritten = false
        farewells[session]?.step = .waitingTurn
        farewells[session]?.deadline = nil
        takeTurns()
    }
}

// MARK: - Time

extension SessionRouter {
    var farewellDeadline: NIODeadline? {
        mutating get {
            guard !farewells.isEmpty else { return nil }
            let own = farewells.values.compactMap(\.deadline).min()
            guard let stopDeadline,
                farewells.values.contains(where: { $0.isOfStop && !$0.isReadyToEnd })
            else { return own }
            return own.map { min($0, stopDeadline) } ?? stopDeadline
        }
    }

    mutating func advanceFarewells() {
        guard !farewells.isEmpty else { return }
        // First, because a frame sent at the end of a step's patience would be followed by
        // EndService at once.
        if let stopDeadline, stopDeadline <= now { endAtOnce() }
        for session in farewells.keys.sorted() {
            guard let farewell = farewells[session], let deadline = farewell.deadline,
                deadline <= now
            else { continue }
            farewells[session]?.deadline = nil
            switch farewell.step {
            case .awaitingApp: drain(session)
            case .endingMessages: unregister(session)
            case .unregistering, .holding: afterUnregister(session)
            case .ending: giveUp(session)
            case .draining, .waitingTurn: break
            }
        }
        takeTurns()
        sendNextStart(at: now)
    }

    /// Gives up on a head unit that has not answered EndService; nothing more can be sent.
    mutating func giveUp(_ session: UInt8) {
        noteStrayEnd(of: session)
        conclude(session)
    }

    /// Ends the stop's waiting: unsent frames are dropped, half messages are ended, and EndService
    /// follows.
    mutating func endAtOnce() {
        for session in farewells.keys.sorted() {
            guard let farewell = farewells[session], farewell.isOfStop, !farewell.isReadyToEnd
            else { continue }
            if farewell.step == .draining || farewell.step == .awaitingApp {
                actions.append(.purge(session))
                endHalfMessages(of: session)
            }
            farewells[session]?.step = .waitingTurn
        }
    }
}
