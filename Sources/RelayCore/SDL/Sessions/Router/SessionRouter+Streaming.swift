// relayd's own audio and video in an app's session: a service is started, data is sent in it, and it is ended.
// The app goes on unaffected.

package import NIOCore
package import SDLProtocol

extension SessionRouter {
    /// Asks the head unit for a service, as if the app had. The answer is an action, and reaches no app.
    ///
    /// - Parameters:
    ///   - wish: What to ask for, where the version of the session has room for it (5 and later).
    ///   - patience: How long to wait for the answer.
    package mutating func startStream(
        _ service: ServiceType, _ wish: BSONDocument, in session: UInt8, patience: TimeAmount,
        at now: NIODeadline
    ) throws(DriveRefusal) -> OwnRequestID {
        self.now = now
        let (grant, owner) = try openSession(session)
        guard grant.version >= 3 else {
            throw .noStreams(session: session, version: grant.version)
        }
        let key = StreamServices.Key(session, service)
        switch streams[key] {
        case nil: break
        // A late confirmation would end the new service.
        case .leaving(let end) where end <= now: break
        case .app, .leaving: throw .serviceInUse(service)
        case .relay: throw .serviceDriven(service)
        }
        let id = ownRequests.nextID()
        streams[key] = .relay(
            StreamServices.Own(id: id, step: .starting, deadline: now + patience))
        // Frames that the app sends in the service meanwhile must not come between.
        routes[session].examinedPayload = .max
        let isEmpty = grant.version < 5 || wish == BSONDocument()
        actions.append(
            .driven(
                [
                    .startService(
                        service, version: grant.version, sessionID: session,
                        messageID: ownRequests.nextMessageID(),
                        payload: isEmpty ? ByteBuffer() : wish.bytes)
                ], owner))
        return id
    }

    /// Splits data for a service of relayd's into frames, in messages that the head unit takes; nil when the
    /// service is not running any more.
    package mutating func streamData(_ data: ByteBuffer, in id: OwnRequestID) -> [Frame]? {
        guard let (key, own, _) = ownStream(id), own.step == .running,
            let grant = grants[key.session]
        else { return nil }
        var frames: [Frame] = []
        var rest = data
        while rest.readableBytes > 0 {
            let size = min(rest.readableBytes, configuration.messageBytes)
            guard let piece = rest.readSlice(length: size) else { break }
            frames += Frame.message(
                version: grant.version, service: key.service, sessionID: key.session,
                messageID: nextFreeMessageID(in: key.session), payload: piece,
                limit: payloadLimit(of: key.session, key.service))
        }
        return frames
    }

    /// Whether data may still be sent.
    package func isStreaming(_ id: OwnRequestID) -> Bool {
        ownStream(id)?.own.step == .running
    }

    /// Ends a service of relayd's; the outcome is an action. A service that is not running yet is ended as
    /// soon as it is granted, and then nobody is told.
    package mutating func endStream(_ id: OwnRequestID, at now: NIODeadline) {
        self.now = now
        guard let (key, own, owner) = ownStream(id), let grant = grants[key.session] else { return }
        switch own.step {
        case .running: sayEnd(key, grant, owner, id)
        case .starting:
            streams[key] = .relay(StreamServices.Own(id: id, step: .givenUp, deadline: nil))
            actions.append(.stream(id, .unanswered))
        case .ending, .givenUp: break
        }
    }

    private mutating func sayEnd(
        _ key: StreamServices.Key, _ grant: SessionGrant, _ owner: App, _ id: OwnRequestID
    ) {
        streams[key] = .relay(
            StreamServices.Own(id: id, step: .ending, deadline: now + StreamServices.patience))
        actions.append(
            .driven(
                [
                    .endService(
                        key.service, version: grant.version, sessionID: key.session, hashID: 0,
                        messageID: ownRequests.nextMessageID())
                ], owner))
    }

    /// The service with its session's owner, as long as the session is open.
    private func ownStream(
        _ id: OwnRequestID
    ) -> (key: StreamServices.Key, own: StreamServices.Own, owner: App)? {
        guard let key = streams.key(of: id), let own = streams.own(key),
            routes[key.session].phase == .open, let owner = routes[key.session].owner
        else { return nil }
        return (key, own, owner)
    }

    /// Forgets a service that relayd no longer uses.
    private mutating func forget(_ key: StreamServices.Key, hasRun: Bool = true) {
        if hasRun { finish(key) } else { streams[key] = nil }
        guard !streams.isRelays(key.session), !routes[key.session].isDriven else { return }
        routes[key.session].examinedPayload = Route.smallPayload
    }

    /// Marks the service as over, in a session that goes on.
    ///
    /// - Parameter user: Who still has a claim to it; nil when anybody may start it.
    private mutating func finish(_ key: StreamServices.Key, then user: StreamServices.User? = nil) {
        streams[key] = user
        guard let owner = routes[key.session].owner else { return }
        actions.append(.event(.serviceEnded(owner, session: key.session, key.service)))
    }
}

// MARK: - What the app says about them

extension SessionRouter {
    /// Decides about an app's control frame about audio or video, in an open session of its own.
    ///
    /// - Returns: Nil when the frame goes on to the head unit.
    mutating func noteStreamControl(_ frame: Frame, of app: App) -> Decision? {
        let key = StreamServices.Key(frame)
        guard streams.own(key) != nil else {
            switch (frame.controlType, streams[key]) {
            case (.startService, nil), (.startService, .leaving):
                streams[key] = .app(isRunning: false)
            case (.endServiceACK, .leaving): streams[key] = nil
            default: break
            }
            return nil
        }
        // The head unit would refuse a second start, and end relayd's service for an end.
        switch frame.controlType {
        case .startService:
            let reason = "relayd uses this service in the app's place, as somebody asked"
            actions.append(.toApp(.startServiceNAK(of: frame, reason: reason), app))
        case .endService:
            let reason = "the app has not started this service"
            actions.append(.toApp(.endServiceNAK(of: frame, reason: reason), app))
        default: break
        }
        return .drop(.serviceOfRelay)
    }

    /// Whether a data frame of an app would get into a stream of relayd's. Mutating only to avoid a copy of the
    /// router for each frame.
    mutating func isInOwnStream(_ frame: Frame) -> Bool {
        streams.ownCount > 0 && frame.service.isStream
            && streams.own(StreamServices.Key(frame)) != nil
    }
}

// MARK: - What the head unit says about them

extension SessionRouter {
    /// Decides about a control frame of the head unit about audio or video.
    ///
    /// - Returns: Nil when the frame goes on to the app.
    mutating func receiveStreamControl(_ frame: Frame) -> Decision? {
        let key = StreamServices.Key(frame)
        guard let own = streams.own(key) else {
            switch frame.controlType {
            case .startServiceACK where routes[key.session].owner != nil:
                streams[key] = .app(isRunning: true)
            // A running service goes on as it is.
            case .startServiceNAK where streams[key] == .app(isRunning: false): streams[key] = nil
            case .endServiceACK where streams[key] == .app(isRunning: true): finish(key)
            // Whether the app confirms it or not.
            case .endService where streams[key] == .app(isRunning: true):
                finish(key, then: .leaving(until: now + StreamServices.patience))
            default: break
            }
            return nil
        }
        guard let owner = routes[key.session].owner, let grant = grants[key.session] else {
            return nil
        }
        actions.append(.toRelay(frame, owner))
        switch (frame.controlType, own.step) {
        case (.startServiceACK, .starting):
            learnPayload(frame)
            streams[key] = .relay(StreamServices.Own(id: own.id, step: .running, deadline: nil))
            let granted = StreamGrant(
                version: grant.version,
                videoProtocol: ControlPayload(frame).document?.string(ControlKey.videoProtocol))
            actions.append(.stream(own.id, .granted(granted)))
        case (.startServiceACK, .givenUp):
            sayEnd(key, grant, owner, own.id)
        case (.startServiceNAK, .starting), (.startServiceNAK, .givenUp):
            forget(key, hasRun: false)
            let document = ControlPayload(frame).document
            actions.append(
                .stream(
                    own.id,
                    .refused(
                        parameters: (document?.array(ControlKey.rejectedParams) ?? []).compactMap {
                            if case .string(let name) = $0 { name } else { nil }
                        },
                        reason: document?.string(ControlKey.reason))))
        case (.endServiceACK, .ending), (.endServiceNAK, .ending):
            forget(key)
            actions.append(
                .stream(own.id, .ended(isConfirmed: frame.controlType == .endServiceACK)))
        case (.endService, _):
            // sdl_core unregisters apps that do not confirm the end within a second.
            actions.append(.driven([.endServiceACK(of: frame)], owner))
            forget(key)
            actions.append(.stream(own.id, .endedByAccessory))
        default: break
        }
        return .handled
    }
}

// MARK: - Time

extension SessionRouter {
    /// Ends relayd's streams in a session, or with nil in all: whoever streams is told.
    mutating func giveUpStreams(in session: UInt8?) {
        for id in streams.end(session) { actions.append(.stream(id, .sessionOver)) }
    }

    /// Gives up services whose answer is overdue.
    mutating func advanceStreams() {
        for (key, own) in streams.overdue(at: now) {
            switch own.step {
            case .starting:
                streams[key] = .relay(
                    StreamServices.Own(id: own.id, step: .givenUp, deadline: nil))
                actions.append(.stream(own.id, .unanswered))
            case .ending:
                forget(key)
                actions.append(.stream(own.id, .ended(isConfirmed: false)))
            case .running, .givenUp: break
            }
        }
    }
}
