// How sdl_core grants sessions and lets them end.

package import NIOCore
import SDLProtocol

extension SDLCoreModel {
    mutating func handle(_ item: QueuedFrame) {
        guard !isStopping, connections[item.connection] != nil else { return }
        let frame = item.frame
        switch frame.controlType {
        case .startService: start(item)
        case .endService: endService(item)
        case .endServiceACK: endedByApp(item)
        case .heartbeat:
            guard sessions[frame.sessionID] != nil else { return }
            let answer = Frame(
                version: frame.version, type: .control, service: .control,
                info: ControlFrameType.heartbeatACK.rawValue, sessionID: frame.sessionID,
                messageID: frame.messageID ?? 0)
            send(answer, on: item.connection, cause: item.life)
        case .registerSecondaryTransport:
            send(
                .registerSecondaryTransportNAK(of: frame, reason: "one transport only"),
                on: item.connection, cause: item.life)
        default: break
        }
    }

    mutating func sendControl(
        _ type: ControlFrameType, service: ServiceType = .rpc, session number: UInt8,
        payload: ByteBuffer = ByteBuffer(), cause: Int
    ) {
        guard let session = sessions[number] else { return }
        let frame = Frame(
            version: session.version, type: .control, service: service, info: type.rawValue,
            sessionID: number, messageID: takeMessageID(number), payload: payload)
        send(frame, on: session.connection, cause: cause)
    }

    // MARK: - Start

    private mutating func start(_ item: QueuedFrame) {
        switch item.frame.service {
        case .rpc where item.frame.sessionID == 0: startSession(item)
        case .rpc where item.frame.isEncrypted: refuseProtection(item)
        case .audio, .video: startStream(item)
        default: refuse(item, reason: "Service type: \(item.frame.service.rawValue) disallowed")
        }
    }

    private mutating func startSession(_ item: QueuedFrame) {
        if chance(habits.unansweredStartChance) { return }
        if chance(habits.lateStartChance) {
            return schedule(.start(item), in: habits.lateStart)
        }
        grant(item)
    }

    /// Grants the lowest session number that no connection uses.
    mutating func grant(_ item: QueuedFrame) {
        guard !isStopping, connections[item.connection] != nil else { return }
        let taken = sessions.all.count { $0 != nil }
        guard taken < habits.maximumSessions,
            let number = (1...UInt8.max).first(where: { sessions[$0] == nil })
        else { return refuse(item, reason: "Unable to create new session") }
        let wanted = ControlPayload(item.frame).document?.string(ControlKey.protocolVersion)
        let speaksV5 = item.frame.version >= 5 || wanted != nil
        lives += 1
        counters.grants += 1
        sessions[number] = Session(
            id: number, life: lives, connection: item.connection,
            hash: UInt32(number) << 16 | UInt32(truncatingIfNeeded: item.connection),
            version: speaksV5 ? 5 : 4, isVersionSettled: speaksV5)
        lastLife[number] = lives
        sendControl(
            .startServiceACK, session: number, payload: grantPayload(number), cause: lives)
    }

    private func grantPayload(_ number: UInt8) -> ByteBuffer {
        guard let session = sessions[number] else { return ByteBuffer() }
        guard session.version >= 5 else {
            var payload = ByteBuffer()
            payload.writeInteger(session.hash)
            return payload
        }
        let document: BSONDocument = [
            ControlKey.hashID: .int32(Int32(bitPattern: session.hash)),
            ControlKey.mtu: .int64(131_072),
            ControlKey.protocolVersion: .string("5.4.0"),
        ]
        return document.bytes
    }

    /// Refusals travel in the request's own version, outside any session's count.
    private mutating func refuse(_ item: QueuedFrame, rejecting key: String? = nil, reason: String)
    {
        let isEnd = item.frame.controlType == .endService
        var document: BSONDocument = [ControlKey.reason: .string(reason)]
        if let key { document[ControlKey.rejectedParams] = .array([.string(key)]) }
        let frame = Frame(
            version: item.frame.version, type: .control, service: item.frame.service,
            info: (isEnd ? ControlFrameType.endServiceNAK : .startServiceNAK).rawValue,
            sessionID: item.frame.sessionID, messageID: 0,
            payload: item.frame.version >= 5 ? document.bytes : ByteBuffer())
        send(frame, on: item.connection, cause: item.life)
    }

    /// Handles a request to protect the RPC service, which is not possible: sdl_core ends the service,
    /// refuses, and keeps both session and app.
    private mutating func refuseProtection(_ item: QueuedFrame) {
        if chance(habits.unansweredProtectionChance) { return }
        let number = item.frame.sessionID
        guard let session = sessions[number], !session.isEndedByCore else {
            return refuse(item, reason: "Service is not available")
        }
        sendControl(.endService, session: number, cause: item.life)
        sessions[number]?.isEndedByCore = true
        refuse(item, reason: "Service is not available")
        guard session.app != nil else { return }
        sessions[number]?.app?.level = .none
        sendStatus(number, cause: item.life)
    }

    /// Starts a stream. There is no answer at all while no app is registered.
    private mutating func startStream(_ item: QueuedFrame) {
        let number = item.frame.sessionID
        guard let app = sessions[number]?.app else { return }
        guard !item.frame.isEncrypted, app.level != .none else {
            return refuse(item, reason: "Service is not available in this HMI level")
        }
        sessions[number]?.streams.insert(item.frame.service)
        let payload: BSONDocument = [ControlKey.mtu: .int64(131_072)]
        sendControl(
            .startServiceACK, service: item.frame.service, session: number,
            payload: (sessions[number]?.version ?? 0) >= 5 ? payload.bytes : ByteBuffer(),
            cause: item.life)
    }

    // MARK: - End

    /// The hash is not checked in a v1 frame, nor when it is 0 in v5 (protocol_handler_impl.cc,
    /// `get_hash_id`).
    private func isRightHash(_ frame: Frame) -> Bool {
        guard frame.version > 1 else { return true }
        guard let hash = ControlPayload(frame).hashID else { return false }
        return hash == sessions[frame.sessionID]?.hash || frame.version >= 5 && hash == 0
    }

    private mutating func endService(_ item: QueuedFrame) {
        let frame = item.frame
        let number = frame.sessionID
        guard let session = sessions[number], session.connection == item.connection else {
            return refuse(item, rejecting: ControlKey.hashID, reason: "Wrong hash_id")
        }
        guard frame.service == .rpc else {
            guard session.streams.contains(frame.service) else {
                return refuse(item, reason: "Service is not running")
            }
            sessions[number]?.streams.remove(frame.service)
            return sendControl(
                .endServiceACK, service: frame.service, session: number, cause: item.life)
        }
        guard isRightHash(frame) else {
            return refuse(item, rejecting: ControlKey.hashID, reason: "Wrong hash_id")
        }
        settleRace(of: number, before: item.number)
        if frame.version == 1 { sessions[number]?.version = 1 }
        sendControl(.endServiceACK, session: number, cause: item.life)
        free(number, unexpected: true)
    }

    /// Requests that came before EndService are handled before it, or lose the race: then they are
    /// answered when the session is gone or belongs to another app. An Unregister that wins is often
    /// noticed too late to make the end an expected one.
    private mutating func settleRace(of number: UInt8, before end: Int) {
        let waiting = requestQueue.filter { $0.session == number && $0.number < end }
        guard !waiting.isEmpty else { return }
        let wasRegistered = sessions[number]?.app
        let isOld = (sessions[number]?.version ?? 5) < 5
        guard
            !chance(
                wasRegistered == nil
                    ? habits.lateRefusalChance
                    : isOld ? habits.lateAnswerChanceV4 : habits.lateAnswerChance)
        else { return }
        requestQueue.removeAll { $0.session == number && $0.number < end }
        for message in waiting { handle(message) }
        if let app = wasRegistered, sessions[number]?.app == nil, let last = ends.indices.last,
            ends[last].appID == app.appID
        {
            ends[last].isUnexpected = chance(habits.unexpectedEndChance)
        }
    }

    /// Handles an app's answer to the core's own EndService. It works like EndService, but is not answered:
    /// with the hash it ends the session that has the number, ended by the core or not
    /// (`HandleControlMessageEndServiceACK`).
    private mutating func endedByApp(_ item: QueuedFrame) {
        let number = item.frame.sessionID
        guard item.frame.service == .rpc, sessions[number]?.connection == item.connection,
            isRightHash(item.frame)
        else { return }
        free(number, unexpected: true)
    }

    /// Frees the number at once. Half messages stay, and so do requests that were not handled.
    mutating func free(_ number: UInt8, unexpected: Bool) {
        unregister(number, unexpected: unexpected)
        sessions[number] = nil
        messageIDs[number] = 0
        beating.remove(number)
    }

    /// Ends a session on the core's own initiative and then says why; the number is free at once.
    package mutating func end(_ number: UInt8, reason: String) {
        guard let session = sessions[number] else { return }
        sendControl(.endService, session: number, cause: session.life)
        if session.app != nil {
            sendRPC(
                .notification, .onAppInterfaceUnregistered, json: #"{"reason":"\#(reason)"}"#,
                to: number, of: session, cause: session.life)
        }
        free(number, unexpected: false)
    }

    /// SIGTERM: tells every app, then sends and handles nothing for a long time.
    package mutating func terminate(at now: NIODeadline) {
        advance(to: now)
        for session in running {
            sendControl(.endService, session: session.id, cause: session.life)
            guard session.app != nil else { continue }
            sendRPC(
                .notification, .onAppInterfaceUnregistered, json: #"{"reason":"IGNITION_OFF"}"#,
                to: session.id, of: session, cause: session.life)
            unregister(session.id, unexpected: false)
        }
        isStopping = true
        schedule(.stopped, in: habits.slowEnd)
    }

    /// Starts the core again after its end: files and resumption data are there, connections are not.
    package mutating func restart(at now: NIODeadline) {
        self.now = now
        for id in connections.keys.sorted() { close(id, unexpected: false) }
        timers = []
        staleHeap = nil
        isStopping = false
    }
}
