// Rules about control frames: sessions, services, heartbeats.

import RelayCore
import SDLAdvice
import SDLProtocol

extension AdviceRules {
    mutating func consider(
        _ control: ControlEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        guard let session = entry.sessionID, let service = entry.service else { return }
        count(entry)
        switch (control.type, entry.direction) {
        case (.startService, .fromApp):
            if let app = entry.app { note(control, PendingStarts.Key(app: app, service: service)) }
        case (.startServiceACK, .fromAccessory):
            if let app = entry.app {
                protectedStarts.remove(PendingStarts.Key(app: app, service: service))
            }
            considerGrant(control, entry, session, service)
        case (.startServiceNAK, .fromAccessory):
            considerRefusal(control, entry, service, table)
        case (.heartbeat, .fromAccessory): considerHeartbeat(entry, session)
        case (.heartbeatACK, .fromApp): sessions[session]?.heartbeats = 0
        default: break
        }
    }

    /// Considers an event that the router reports about a session.
    mutating func consider(_ event: SessionEvent, _ entry: TrafficEntry) {
        switch event {
        case .startSent: break
        case .ended(let session):
            if sessions[session]?.app == entry.app { sessions[session] = nil }
        case .serviceEnded(let service, let session):
            guard sessions[session]?.app == entry.app else { return }
            sessions[session]?.streams.remove(service)
        case .wrongHash(let hash, let session): consider(hash, session, entry)
        case .transportOffered(_, isPassedOn: true):
            advise(
                .secondaryTransport, entry,
                "the head unit offers a second transport, and the offer is passed on",
                remedy: "set sessions.secondary_transports to strip to keep all traffic in sight",
                isAboutLink: true)
        case .transportOffered(_, isPassedOn: false):
            advise(
                .secondaryTransport, entry,
                "the head unit offered a second transport; relayd took the offer out",
                isAboutLink: true)
        }
    }

    /// relayd's own frames say little about the peers, only that a heartbeat is answered, by whichever side.
    mutating func considerRelay(_ control: ControlEntry, _ entry: TrafficEntry) {
        guard let session = entry.sessionID, entry.direction == .fromApp else { return }
        if control.type == .heartbeatACK { sessions[session]?.heartbeats = 0 }
    }

    private mutating func note(_ control: ControlEntry, _ start: PendingStarts.Key) {
        if control.isProtected {
            protectedStarts.insert(start)
        } else {
            protectedStarts.remove(start)
        }
    }

    // MARK: ACK

    private mutating func considerGrant(
        _ control: ControlEntry, _ entry: TrafficEntry, _ session: UInt8, _ service: ServiceType
    ) {
        if control.version >= 5 { considerTypes(control, entry, service) }
        guard service == .rpc else {
            if service.isStream { sessions[session]?.streams.insert(service) }
            return
        }
        guard control.grant == .opens else { return }
        sessions[session] = SessionNotes(app: entry.app)
        if entry.bytes > Self.largestACK {
            advise(
                .ackTooLarge, entry,
                "the StartServiceACK has \(entry.bytes) payload bytes, the iOS library takes "
                    + "\(Self.largestACK)")
        }
    }

    /// Payload bytes that the iOS library accepts before it has read the ACK: 1024 with header, minus one
    /// (SDL protocol spec, "MTU").
    static let largestACK = 1011

    private mutating func considerTypes(
        _ control: ControlEntry, _ entry: TrafficEntry, _ service: ServiceType
    ) {
        guard let document = control.payload.document else {
            guard service == .rpc else { return }
            return advise(
                .ackMissingKeys, entry, "the StartServiceACK carries neither hashId nor mtu")
        }
        if service == .rpc {
            let missing = [ControlKey.hashID, ControlKey.mtu].filter { document[$0] == nil }
            if !missing.isEmpty, !control.isProtected {
                advise(
                    .ackMissingKeys, entry, cause: missing.joined(),
                    "the StartServiceACK has no \(missing.joined(separator: " and no "))")
            }
            if document.int32(ControlKey.hashID) == -1 {
                advise(
                    .ackWrongType, entry, cause: ControlKey.hashID,
                    "the StartServiceACK's hashId is -1, which libraries take for absent")
            }
        }
        if let mtu = document.int64(ControlKey.mtu), !ControlPayload.isPossible(mtu: mtu) {
            advise(
                .ackWrongType, entry, cause: ControlKey.mtu,
                "the StartServiceACK's mtu (\(service.name)) is \(mtu), which leaves no room for any "
                    + "frame; relayd goes by the default of the version",
                remedy: "have the head unit send mtu in bytes, such as 131072")
        }
        for element in document.elements {
            guard let wanted = Self.types[element.key], !element.value.isOf(wanted) else {
                continue
            }
            advise(
                .ackWrongType, entry, cause: element.key,
                "\(element.key) in the StartServiceACK (\(service.name)) is of type "
                    + "\(element.value.typeName), expected \(wanted)")
        }
    }

    /// SDL protocol spec, "Control frame payloads".
    private static let types: [String: String] = [
        ControlKey.hashID: "int32", ControlKey.mtu: "int64",
        ControlKey.protocolVersion: "string", ControlKey.make: "string",
        ControlKey.model: "string", "modelYear": "string", "trim": "string",
        "systemSoftwareVersion": "string", "systemHardwareVersion": "string",
        ControlKey.width: "int32", ControlKey.height: "int32",
        ControlKey.videoCodec: "string", ControlKey.videoProtocol: "string",
        ControlKey.secondaryTransports: "array", ControlKey.audioServiceTransports: "array",
        ControlKey.videoServiceTransports: "array",
    ]

    // MARK: NAK

    private mutating func considerRefusal(
        _ control: ControlEntry, _ entry: TrafficEntry, _ service: ServiceType,
        _ table: FactsTable
    ) {
        let document = control.payload.document
        var text = "the head unit refuses StartService \(service.name)"
        if let reason = document?.string(ControlKey.reason), !reason.isEmpty {
            text += ": \"\(reason)\""
        }
        if let rejected = document?.array(ControlKey.rejectedParams), !rejected.isEmpty {
            text += "; it rejects " + rejected.map(\.description).joined(separator: ", ")
        }
        let wasProtected =
            entry.app.flatMap {
                protectedStarts.remove(PendingStarts.Key(app: $0, service: service))
            }
            != nil
        let (why, remedy) =
            wasProtected
            ? Self.noEncryption
            : service.isStream
                ? Self.whyNoStream(entry.app.flatMap { table.apps[$0] }) : Self.whyNoSession
        if let why { text += "; \(why)" }
        advise(
            .startRefused, entry, cause: service.name, text, remedy: remedy, fault: entry.startFault
        )
    }

    /// A guess: nothing in a NAK says so.
    private static let noEncryption: (why: String?, remedy: String?) = (
        "the app asked for encryption, so this head unit probably has none, or none for this app",
        "start the service without encryption, or give the head unit a security plugin and keys"
    )

    private static let whyNoSession: (why: String?, remedy: String?) = (
        nil,
        "read its reason; without one, try another protocol version, or wait until a session is "
            + "free"
    )

    /// Reasons from the facts for a refused audio or video service.
    private static func whyNoStream(_ app: AppFacts?) -> (why: String?, remedy: String?) {
        guard let app else { return (nil, nil) }
        let types = app.registration?.hmiTypes ?? []
        if !types.contains("NAVIGATION"), !types.contains("PROJECTION") {
            let named = types.isEmpty ? "without appHMIType" : "as " + types.joined(separator: ", ")
            return (
                "the app registered \(named)",
                "register with appHMIType NAVIGATION or PROJECTION"
            )
        }
        let level = app.hmiLevel ?? .none
        if level == .none || level == .background {
            return ("the app is in \(level.rawValue)", "start it in FULL or LIMITED")
        }
        return (nil, "compare codec, protocol and size with the VIDEO_STREAMING capability")
    }

    // MARK: End and heartbeat

    private mutating func consider(_ hash: WrongHash, _ session: UInt8, _ entry: TrafficEntry) {
        let expected = ControlDetails.hash(hash.expected)
        switch hash.sent {
        case .nothing:
            advise(
                .endWithoutHash, entry,
                "EndService of session \(session) carries no hash ID, expected \(expected)")
        case .hash(let sent):
            advise(
                .endWrongHash, entry,
                "EndService of session \(session) carries hash ID \(ControlDetails.hash(sent)), "
                    + "expected \(expected)")
        case .type(let name):
            advise(.endWrongHash, entry, "EndService carries hashId as \(name), expected int32")
        }
    }

    /// sdl_core sends a heartbeat when nothing came for a while, and closes the session when nothing comes
    /// again. One without an answer may be late, two are not.
    private mutating func considerHeartbeat(_ entry: TrafficEntry, _ session: UInt8) {
        guard let heartbeats = sessions[session]?.heartbeats else { return }
        sessions[session]?.heartbeats = heartbeats + 1
        guard heartbeats >= 1 else { return }
        advise(
            .heartbeatUnanswered, entry,
            "the app has not answered \(heartbeats) heartbeat\(heartbeats == 1 ? "" : "s") of "
                + "the head unit")
    }

    // MARK: Silence

    mutating func considerSilence(
        waited: Int64, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        guard let service = entry.service else { return }
        let known = entry.app.flatMap { table.apps[$0] }
        let text =
            "the head unit has not answered StartService \(service.name) for "
            + Self.seconds(waited)
        if service.isStream, known?.isRegistered != true {
            advise(
                .startUnanswered, entry, cause: service.name,
                text + "; the app is not registered, and head units do not answer then",
                remedy: "register the app first, then start \(service.name)",
                fault: entry.startFault)
        } else {
            advise(
                .startUnanswered, entry, cause: service.name, text,
                remedy: "see whether the head unit is busy, waits for the user or hangs",
                fault: entry.startFault)
        }
    }
}

extension BSONValue {
    fileprivate func isOf(_ name: String) -> Bool { typeName == name }
}
