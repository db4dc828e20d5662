// The head unit's answers to control frames: heartbeat, start and end of services.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    mutating func receiveControl(_ frame: Frame) {
        switch frame.controlType {
        case .heartbeat: answerHeartbeat(frame)
        case .startService: startService(frame)
        case .endService: endService(frame)
        case .registerSecondaryTransport:
            send(
                .registerSecondaryTransportNAK(
                    of: frame, reason: "this head unit has one transport only"))
        // Answers to requests that the head unit never sends.
        case .startServiceACK, .startServiceNAK, .endServiceACK, .endServiceNAK,
            .registerSecondaryTransportACK, .registerSecondaryTransportNAK, .transportEventUpdate,
            .serviceDataACK, .heartbeatACK, nil:
            break
        }
    }

    /// The acknowledgement echoes session and message ID; the simulator always answers.
    private mutating func answerHeartbeat(_ frame: Frame) {
        send(
            Frame(
                version: frame.version, type: .control, service: .control,
                info: ControlFrameType.heartbeatACK.rawValue, sessionID: frame.sessionID,
                messageID: frame.messageID ?? 0))
    }

    private mutating func startService(_ frame: Frame) {
        switch frame.service {
        case .rpc: startSession(frame)
        case .audio, .video: startStream(frame)
        // Bulk is implied by RPC; the control service needs no start.
        case .bulk, .control:
            refuse(frame, reason: "service \(frame.service.name) cannot be started")
        }
    }

    private mutating func endService(_ frame: Frame) {
        guard let session = sessions[frame.sessionID] else {
            counters.unexpectedFrames += 1
            refuse(frame, reason: "session \(frame.sessionID) is not running")
            return
        }
        switch frame.service {
        case .rpc:
            guard isRightHash(frame, of: session) else {
                refuse(
                    frame, rejecting: ControlKey.hashID,
                    reason: "hashId is not the one of StartServiceACK")
                return
            }
            acknowledge(frame)
            removeSession(frame.sessionID)
        case .audio, .video:
            guard session.streams.contains(frame.service) else {
                refuse(frame, reason: "service \(frame.service.name) is not running")
                return
            }
            sessions[frame.sessionID]?.streams.remove(frame.service)
            acknowledge(frame)
        case .bulk, .control: refuse(frame, reason: "service \(frame.service.name) cannot be ended")
        }
    }

    /// v1 has no hash, and sdl_core accepts 0 in v5, on which Android's router relies
    /// (SDL protocol spec, "EndService", and sdl_core 8.2.0).
    private func isRightHash(_ frame: Frame, of session: Session) -> Bool {
        guard frame.version > 1 else { return true }
        guard let hashID = ControlPayload(frame).hashID else { return false }
        return hashID == session.hashID || (frame.version >= 5 && hashID == 0)
    }

    // MARK: Answers

    /// Answers StartService or EndService with ACK, in the session's protocol version.
    mutating func acknowledge(_ request: Frame, payload: ByteBuffer = ByteBuffer()) {
        let type: ControlFrameType =
            request.controlType == .endService ? .endServiceACK : .startServiceACK
        let id = request.sessionID
        guard let version = sessions[id]?.version,
            let messageID = sessions[id]?.takeMessageID()
        else { return }
        send(
            Frame(
                version: version, type: .control, service: request.service, info: type.rawValue,
                sessionID: id, messageID: messageID, payload: payload))
    }

    /// Answers StartService or EndService with NAK, like sdl_core in the request's own version: only v5 has room
    /// for names and a reason.
    mutating func refuse(_ request: Frame, rejecting key: String? = nil, reason: String) {
        let type: ControlFrameType =
            request.controlType == .endService ? .endServiceNAK : .startServiceNAK
        var document = BSONDocument()
        if let key { document[ControlKey.rejectedParams] = .array([.string(key)]) }
        let version = sessions[request.sessionID]?.fullVersion ?? configuration.protocolVersion
        if version >= SDLVersion(5, 3) { document[ControlKey.reason] = .string(reason) }
        let hasPayload = request.version >= 5 && !document.elements.isEmpty
        send(
            Frame(
                version: request.version, type: .control, service: request.service,
                info: type.rawValue, sessionID: request.sessionID,
                messageID: request.messageID ?? 0,
                payload: hasPayload ? document.bytes : ByteBuffer()))
    }
}
