// What the router sends in a session because somebody wants it to: relayd's own requests in place of an app,
// and relayd's own messages in place of the head unit.

package import NIOCore
package import SDLProtocol

// MARK: - To the head unit

extension SessionRouter {
    /// Sends an RPC in an app's session, as if the app had. The head unit's answer to a request, or the lack
    /// of one, is an action; it reaches no app.
    ///
    /// - Parameter patience: How long to wait for the answer to a request; nil for as long as the session
    ///   lives.
    package mutating func send(
        _ rpc: DrivenRPC, in session: UInt8, patience: TimeAmount? = nil, at now: NIODeadline
    ) throws(DriveRefusal) -> OwnRequestID {
        self.now = now
        let (grant, owner) = try openSession(session)
        try checkSize(rpc)
        guard ownRequests.asked(in: session) < OwnRequests.limitPerSession else {
            throw .tooMany(limit: OwnRequests.limitPerSession)
        }
        let id: OwnRequestID
        let correlationID: Int32
        if rpc.type == .request {
            appRequests.begin(session)
            (id, correlationID) = ownRequests.ask(
                functionID: rpc.function.rawValue, in: session, besides: appRequests,
                until: patience.map { now + $0 })
            routes[session].isDriven = true
            routes[session].isWatched = true
            // From now on the app's requests are examined.
            routes[session].examinedPayload = .max
        } else {
            id = ownRequests.nextID()
            correlationID = rpc.correlationID ?? 0
        }
        let frames = Frame.message(
            version: grant.version, service: rpc.bulk.readableBytes > 0 ? .bulk : .rpc,
            sessionID: session, messageID: nextFreeMessageID(in: session),
            payload: rpc.payload(correlationID: correlationID), limit: payloadLimit(of: session))
        actions.append(.driven(frames, owner))
        if rpc.type != .request { actions.append(.answer(id, .passedOn)) }
        return id
    }

    /// Sends a request without bulk data whose answer may take any time.
    package mutating func ask(
        _ function: FunctionID, _ parameters: String = "{}", in session: UInt8, at now: NIODeadline
    ) -> OwnRequestID? {
        try? send(DrivenRPC(function, .request, parameters), in: session, at: now)
    }

    /// Gives up an RPC whose caller no longer waits: if it has not been sent, it is dropped, and otherwise
    /// its answer reaches nobody.
    package mutating func giveUp(_ id: OwnRequestID) {
        ownRequests.giveUp(id)
        injections.giveUp(id)
    }

    func openSession(
        _ session: UInt8
    ) throws(DriveRefusal) -> (grant: SessionGrant, owner: App) {
        guard isLinkUp else { throw .noLink }
        guard routes[session].phase == .open, let grant = grants[session],
            let owner = routes[session].owner
        else { throw .noSession }
        guard grant.version > 1 else { throw .oldProtocol(session: session) }
        return (grant, owner)
    }

    /// A message ID that no half message of the app has: with the same ID, that message would be ended.
    mutating func nextFreeMessageID(in session: UInt8) -> UInt32 {
        while true {
            let messageID = ownRequests.nextMessageID()
            let isHalf = halves.unfinished(of: session).contains { $0.messageID == messageID }
            if !isHalf { return messageID }
        }
    }

    private func checkSize(_ rpc: DrivenRPC) throws(DriveRefusal) {
        let limit = configuration.messageBytes
        guard rpc.payloadBytes <= limit else {
            throw .tooLarge(bytes: rpc.payloadBytes, limit: limit)
        }
    }

    /// The most payload bytes that a frame of relayd's may have. Whether an mtu includes the header is not
    /// agreed.
    func payloadLimit(of session: UInt8, _ service: ServiceType = .rpc) -> Int {
        let limit = Int(routes[session].payloads[service])
        guard let version = grants[session]?.version, version > 2 else {
            return min(limit, Self.largestPayloadOfV2)
        }
        return min(limit, Self.largestDrivenPayload) - FrameHeader.bytes(version: version)
    }

    /// SDL protocol spec, "MTU".
    private static var largestPayloadOfV2: Int { 1488 }
    private static var largestDrivenPayload: Int { 131_072 }

    /// Notes that an app has reached the range of relayd's IDs before relayd has asked anything: when relayd
    /// does, it must be known which of them the app uses.
    mutating func noteRange(_ frame: Frame) {
        let session = frame.sessionID
        guard OwnRequests.isMeant(by: frame) else { return }
        appRequests.begin(session)
        appRequests.noteBegun(frame)
        routes[session].isDriven = true
        routes[session].isWatched = true
        routes[session].examinedPayload = .max
    }

    /// Notes an app's frame in a driven session: the app's requests must not be taken for relayd's.
    mutating func noteDriven(_ frame: Frame, of app: App) -> Decision {
        guard let header = appRequests.header(in: frame), header.type == .request else {
            return .toLink
        }
        let session = frame.sessionID
        let isTaken =
            ownRequests.isUsed(header.correlationID, in: session)
            || ownRequests.isSpent(header.correlationID, in: session)
            || appRequests.isStandIn(header.correlationID, in: session)
        let other =
            isTaken && appRequests.mayReplace(in: session)
            ? ownRequests.nextCorrelationID(in: session, besides: appRequests) : nil
        appRequests.said(header.correlationID, in: session, insteadOf: other)
        guard let other else { return .toLink }
        actions.append(.toLink(frame.withCorrelationID(other), from: .app(app)))
        return .handled
    }
}

// MARK: - Answers of the head unit

extension SessionRouter {
    /// Tells the head unit's answer to whoever asked for the request.
    mutating func tell(_ answer: Message, to request: OwnRequests.Request) {
        switch request.kind {
        case .asked(let id, _): actions.append(.answer(id, .response(answer)))
        case .late(let functionID):
            actions.append(
                .event(
                    .lateAnswer(
                        routes[request.session].owner, session: request.session,
                        FunctionID(rawValue: functionID))))
        case .messageEnd, .unregister: break
        }
    }

    /// Examines a frame of a multi-frame message in a driven session.
    ///
    /// - Returns: Nil when the frame does not concern relayd.
    mutating func inspectPart(_ frame: Frame) -> Decision? {
        let limit = configuration.messageBytes
        switch drivenAnswers.receive(frame, limit: limit, at: now) {
        case .pass: return nil
        case .hold: return .handled
        case .own: return .drop(.answersRelay)
        case .whole(let request, let message):
            tell(message, to: request)
            return .drop(.answersRelay)
        case .begins(let first, let header):
            let session = frame.sessionID
            if let header, let request = ownRequests.answered(by: header, in: session, at: now) {
                // Observers are shown both frames, in their order.
                actions.append(.dropped(first, .answersRelay))
                actions.append(.dropped(frame, .answersRelay))
                if let whole = drivenAnswers.begin(
                    frame, answering: request, limit: limit, at: now)
                {
                    tell(whole, to: request)
                }
                return .handled
            }
            if let header, isRepeated(header, in: session) {
                actions.append(.dropped(first, .answersRelay))
                actions.append(.dropped(frame, .answersRelay))
                drivenAnswers.drop(frame)
                return .handled
            }
            guard let owner = routes[session].owner else {
                actions.append(.dropped(first, .farewell(session)))
                return nil
            }
            let restored = header.flatMap { restore(frame, $0) } ?? frame
            for frame in [first, restored] {
                injections.delivered(frame, at: now)
                actions.append(.pass(frame, to: owner))
            }
            return .handled
        }
    }

    /// Whether this is a second answer to a request of relayd's, of which the app knows nothing.
    func isRepeated(_ header: RPCHeader, in session: UInt8) -> Bool {
        header.type == .response && ownRequests.isSpent(header.correlationID, in: session)
            && !appRequests.isUsed(header.correlationID, in: session)
    }

    /// The answer to an app's request that went by another correlation ID, with the app's own restored.
    mutating func restore(_ frame: Frame, _ header: RPCHeader) -> Frame? {
        guard header.type == .response,
            let own = appRequests.answered(header.correlationID, in: frame.sessionID)
        else { return nil }
        return frame.withCorrelationID(own)
    }

    /// Gives up what was asked in a session, or with nil in all: the callers are told that the session is
    /// over.
    mutating func giveUpAsked(in session: UInt8? = nil) {
        giveUpStreams(in: session)
        if let session { appRequests.end(session) } else { appRequests = AppRequests() }
        for request in drivenAnswers.end(session) {
            if case .asked(let id, _) = request.kind {
                actions.append(.answer(id, .sessionOver))
            }
        }
        for id in ownRequests.takeAsked(in: session, lateUntil: now + OwnRequests.patience)
            + injections.end(session)
        {
            actions.append(.answer(id, .sessionOver))
        }
    }
}

// MARK: - To an app

extension SessionRouter {
    /// Sends an RPC to an app in place of the head unit, as soon as no message of the head unit's is half
    /// delivered there.
    ///
    /// - Parameter patience: How long to wait for that.
    package mutating func inject(
        _ rpc: DrivenRPC, in session: UInt8, patience: TimeAmount, at now: NIODeadline
    ) throws(DriveRefusal) -> OwnRequestID {
        self.now = now
        let (grant, owner) = try openSession(session)
        try checkSize(rpc)
        guard injections.waiting(in: session) < Injections.limitPerSession else {
            throw .tooManyWaiting(limit: Injections.limitPerSession)
        }
        let id = ownRequests.nextID()
        let frames = Frame.message(
            version: grant.version, sessionID: session, messageID: injections.nextMessageID(),
            payload: rpc.payload(correlationID: rpc.correlationID ?? 0),
            limit: payloadLimit(of: session))
        if injections.mayGo(session, .rpc, at: now) {
            say(frames, to: owner, id)
        } else {
            injections.wait(id, frames, in: session, until: now + patience)
        }
        return id
    }

    /// Sends relayd's own answer to a request of the app's that reaches no head unit. Not sent inside a
    /// message of the head unit's either, however long that takes, unless too much waits already.
    package mutating func answer(_ frame: Frame, to app: App, at now: NIODeadline) {
        self.now = now
        let session = frame.sessionID
        guard frame.type != .control, routes[session].owner == app,
            !injections.mayGo(session, frame.service, at: now),
            injections.waiting(in: session) < Injections.limitPerSession
        else {
            actions.append(.toApp(frame, app))
            return
        }
        injections.wait(ownRequests.nextID(), [frame], in: session, until: .distantFuture)
    }

    private mutating func say(_ frames: [Frame], to owner: App, _ id: OwnRequestID) {
        for frame in frames { actions.append(.toApp(frame, owner)) }
        actions.append(.answer(id, .passedOn))
    }

    /// Sends the injections that may go now, as a message of the head unit's may have become whole.
    mutating func sayInjections() {
        for (id, frames) in injections.takeReady(at: now) {
            if let session = frames.first?.sessionID, routes[session].phase == .open,
                let owner = routes[session].owner
            {
                say(frames, to: owner, id)
            } else {
                actions.append(.answer(id, .sessionOver))
            }
        }
    }
}

// MARK: - Time

extension SessionRouter {
    var drivenDeadline: NIODeadline? {
        mutating get {
            guard
                !ownRequests.isEmpty || !drivenAnswers.isEmpty || !injections.isEmpty
                    || streams.ownCount > 0
            else { return nil }
            return [
                ownRequests.nextDeadline, drivenAnswers.nextDeadline, injections.nextDeadline,
                streams.nextDeadline,
            ].compactMap { $0 }.min()
        }
    }

    mutating func advanceDriven() {
        sayInjections()
        advanceStreams()
        for request in drivenAnswers.takeOverdue(at: now) {
            if case .asked(let id, _) = request.kind { actions.append(.answer(id, .tooLate)) }
        }
        for id in ownRequests.takeOverdue(at: now) + injections.takeOverdue(at: now) {
            actions.append(.answer(id, .tooLate))
        }
    }
}
