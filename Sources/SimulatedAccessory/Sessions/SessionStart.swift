// Opens and closes sessions: version negotiation, session IDs, hash IDs.

import NIOCore
import SDLProtocol

extension SimulatedAccessory {
    /// StartService of RPC: grants a session and a protocol version (SDL protocol spec, "Version
    /// Negotiation").
    mutating func startSession(_ frame: Frame) {
        guard !frame.isEncrypted else {
            refuse(frame, reason: "this head unit does not encrypt")
            return
        }
        guard frame.sessionID == 0 else {
            refuse(frame, reason: "the RPC service of session \(frame.sessionID) cannot start")
            return
        }
        let wanted = ControlPayload(frame).document?.string(ControlKey.protocolVersion)
        var offered: SDLVersion? = frame.version >= 5 ? SDLVersion(5) : nil
        if let wanted {
            guard let version = SDLVersion(text: wanted), version >= SDLVersion(5) else {
                refuse(
                    frame, rejecting: ControlKey.protocolVersion,
                    reason: "protocolVersion \"\(wanted)\" is below 5.0.0")
                return
            }
            offered = version
        }
        guard let id = (1...UInt8.max).first(where: { sessions[$0] == nil }) else {
            refuse(frame, reason: "all 255 sessions are in use")
            return
        }
        let cap = configuration.protocolVersion
        let agreed = cap.major >= 5 ? offered.map { min($0, cap) } : nil
        let session = Session(
            id: id, hashID: makeHashID(), version: UInt8(agreed?.major ?? min(cap.major, 4)),
            fullVersion: agreed)
        sessions[id] = session
        grant(session, to: frame)
    }

    private mutating func grant(_ session: Session, to request: Frame) {
        var payload = ByteBuffer()
        switch session.version {
        case 1: break
        case 2...4: payload.writeInteger(session.hashID)
        default: payload = grantDocument(session).bytes
        }
        guard let messageID = sessions[session.id]?.takeMessageID() else { return }
        send(
            Frame(
                version: session.version, type: .control, service: .rpc,
                info: ControlFrameType.startServiceACK.rawValue, sessionID: session.id,
                messageID: messageID, payload: payload))
    }

    private func grantDocument(_ session: Session) -> BSONDocument {
        var document: BSONDocument = [
            // Types are strict: with others than int32 and int64, libraries do not see the values.
            ControlKey.hashID: .int32(Int32(bitPattern: session.hashID)),
            ControlKey.mtu: .int64(configuration.mtu),
        ]
        guard let version = session.fullVersion else { return document }
        document[ControlKey.protocolVersion] = .string(version.description)
        if version >= SDLVersion(5, 4) {
            document[ControlKey.make] = .string(configuration.make)
            document[ControlKey.model] = .string(configuration.model)
            document["modelYear"] = .string(Capabilities.modelYear)
            document["trim"] = .string(Capabilities.trim)
            document["systemSoftwareVersion"] = .string(Capabilities.softwareVersion)
            document["systemHardwareVersion"] = .string(Capabilities.hardwareVersion)
        }
        return document
    }

    private mutating func makeHashID() -> UInt32 {
        UInt32.random(in: 1...(UInt32.max - 1), using: &generator)
    }

    /// Ends a session and everything in it.
    mutating func removeSession(_ id: UInt8) {
        unregisterApp(inSession: id)
        sessions[id] = nil
    }
}
