import RelayCore
import SDLAdvice
import SDLProtocol

/// Who is who on the link, as far as `TrafficDecoder` has to know to name and pair messages:
/// sessions with the apps that own them, their names and unanswered requests.
struct SessionDirectory: Sendable {
    /// What an app calls itself in RegisterAppInterface.
    struct Identity: Sendable {
        var name: String?
        var appID: String?
    }

    /// A RegisterAppInterface, as far as it changes what is known of its session.
    private struct Registration: Sendable {
        var identity: Identity
        var mayStream: Bool
        var correlationID: Int32?
    }

    private struct Session: Sendable {
        var app: AppID?
        var identity: Identity?
        /// The head unit has accepted a registration, which counts until somebody ends it.
        var isRegistered = false
        /// Correlation ID of the registration that has no answer yet, and counts until it is refused.
        var asked: Int32?
        /// A further registration: counts from its acceptance on.
        var next: Registration?
        /// As the latest PerformAudioPassThru asked for.
        var audio: AudioFormat?
        /// As it registered: NAVIGATION or PROJECTION, which may stream.
        var mayStream = false
        /// Of the main window; nil until a registration has succeeded.
        var level: HMILevel?
        /// Bytes, as the ACKs of the session's services have it.
        var mtu: [ServiceType: Int] = [:]
        /// Large frames told already.
        var largeFrames: Set<LargeFrameKey> = []
    }

    private struct LargeFrameKey: Hashable {
        var service: ServiceType
        var direction: Direction
        var exceeds: Bool
    }

    private var sessions: [UInt8: Session] = [:]
    /// The latest registration on a connection, for frames outside any session.
    private var identities: [AppID: Identity] = [:]
    /// By session.
    var pending: [UInt8: PendingRequests] = [:]
    /// Sessions in which a request became late, in order.
    func lateSessions(at now: Int64) -> [UInt8] {
        pending.filter { now >= $0.value.nextDeadline ?? .max }.keys.sorted()
    }

    /// Payload bytes no session has an objection to; larger frames are looked at.
    private(set) var unquestionedPayloadBytes = Int.max

    func app(_ session: UInt8) -> AppID? { sessions[session]?.app }

    func sessions(of app: AppID) -> [UInt8] {
        sessions.filter { $0.value.app == app }.keys.sorted()
    }

    /// A session's own name goes before its connection's: a connection may carry several apps.
    func identity(app: AppID?, session: UInt8?) -> Identity? {
        if let session, let found = sessions[session], app == nil || found.app == app,
            let identity = found.identity
        {
            return identity
        }
        return app.flatMap { identities[$0] }
    }

    mutating func begin(_ ack: TappedFrame) {
        sessions[ack.frame.sessionID] = Session(app: ack.app)
    }

    // MARK: Large frames

    /// What `mtu` counts is not agreed: a frame that fits by every reading is so much smaller than
    /// it, the header of v2 and later.
    private static let headerBytes = FrameHeader.bytes(version: 2)

    /// Notes how large the frames of a service may be (SDL protocol spec, "MTU": from v5 on).
    mutating func limit(_ ack: TappedFrame) {
        guard ack.frame.version >= 5,
            let mtu = ControlPayload(ack.frame).mtu, mtu <= Int64(Int32.max)
        else { return }
        sessions[ack.frame.sessionID]?.mtu[ack.frame.service] = Int(mtu)
        unquestionedPayloadBytes = min(unquestionedPayloadBytes, Int(mtu) - Self.headerBytes)
    }

    /// What is to be told of a frame larger than `unquestionedPayloadBytes`; nil when its own
    /// session's limit is larger, or when it was told before.
    mutating func judge(_ tapped: TappedFrame) -> LargeFrame? {
        let frame = tapped.frame
        guard let session = sessions[frame.sessionID] else { return nil }
        // Bulk has no ACK of its own: it lives with the RPC service.
        let mtu = session.mtu[frame.service] ?? session.mtu[.rpc]
        guard let mtu, frame.payloadBytes > mtu - Self.headerBytes else { return nil }
        let large = LargeFrame(payloadBytes: frame.payloadBytes, mtu: mtu)
        let key = LargeFrameKey(
            service: frame.service, direction: tapped.direction, exceeds: large.exceeds)
        let isNew = sessions[frame.sessionID]?.largeFrames.insert(key).inserted ?? false
        return isNew ? large : nil
    }

    /// Notes what an app calls itself. Its first registration counts at once, so that its own line has the
    /// name already. A further one counts when it is accepted: most are refused, and change nothing.
    mutating func register(_ request: RPCMessage, _ tapped: TappedFrame) {
        let types = request.parameters.array("appHMIType")
        let registration = Registration(
            identity: Identity(
                name: FactLimits.text(request.parameters.string("appName")).flatMap(Self.visible),
                appID: FactLimits.text(
                    request.parameters.string("appID") ?? request.parameters.string("fullAppID"))),
            mayStream: types?.elements.prefix(FactLimits.parameters).contains {
                ["NAVIGATION", "PROJECTION"].contains(types?.string($0))
            } ?? false,
            correlationID: request.correlationID)
        let id = tapped.frame.sessionID
        let session = sessions[id, default: Session(app: tapped.app)]
        sessions[id] = session
        if session.isRegistered || session.asked != nil {
            sessions[id]?.next = registration
        } else {
            count(registration, of: id, tapped.app)
        }
    }

    private mutating func count(_ registration: Registration, of session: UInt8, _ app: AppID?) {
        sessions[session]?.identity = registration.identity
        sessions[session]?.mayStream = registration.mayStream
        sessions[session]?.asked = registration.correlationID
        sessions[session]?.next = nil
        if let app { identities[app] = registration.identity }
    }

    /// The head unit has answered a registration.
    private mutating func answered(
        _ correlationID: Int32?, isAccepted: Bool, of id: UInt8, _ app: AppID?
    ) {
        guard let session = sessions[id] else { return }
        let next = session.next
        if let next, next.correlationID == correlationID, session.asked != correlationID {
            sessions[id]?.next = nil
            if isAccepted { count(next, of: id, app ?? session.app) }
        }
        if isAccepted || session.asked == correlationID { sessions[id]?.asked = nil }
        if isAccepted {
            sessions[id]?.isRegistered = true
            sessions[id]?.level = HMILevel.none
        } else if !session.isRegistered, session.asked == correlationID {
            sessions[id]?.level = nil
            // What was asked after it is the first one now.
            if let next { count(next, of: id, app ?? session.app) }
        }
    }

    /// Whoever was registered need not be any more, and what was asked may have been granted.
    mutating func forgetRegistrations() {
        for (id, session) in sessions {
            if let next = session.next { count(next, of: id, session.app) }
            sessions[id]?.isRegistered = false
            sessions[id]?.asked = nil
        }
    }

    /// The name; nil when there is nothing to see of it, as if the app had none.
    private static func visible(_ name: String) -> String? {
        let isVisible = name.unicodeScalars.contains {
            !$0.properties.isWhitespace && !VisibleScalars.isInvisible($0)
        }
        return isVisible ? name : nil
    }

    /// Notes what decides whether the app may stream.
    mutating func learn(_ rpc: RPCEntry, _ session: UInt8) {
        let parameters = rpc.message.parameters
        switch (rpc.message.functionID, rpc.message.type) {
        case (.registerAppInterface, .response):
            answered(
                rpc.message.correlationID, isAccepted: rpc.outcome?.success == true, of: session,
                sessions[session]?.app)
        case (.unregisterAppInterface, .response) where rpc.outcome?.success == true:
            sessions[session]?.isRegistered = false
        case (.onHMIStatus, .notification) where (parameters.integer("windowID") ?? 0) == 0:
            sessions[session]?.level = parameters.string("hmiLevel").flatMap(
                HMILevel.init(rawValue:))
        case (.onAppInterfaceUnregistered, .notification):
            sessions[session]?.level = nil
            sessions[session]?.isRegistered = false
        default: break
        }
    }

    /// Whose doing it is that the head unit refuses a service, or does not answer.
    func fault(_ service: ServiceType, of session: UInt8, rejects: Bool = false) -> FaultSide {
        guard service.isStream, let known = sessions[session] else {
            return rejects ? .app : .headUnit
        }
        let isVisible = known.level == .full || known.level == .limited
        return known.mayStream && isVisible && !rejects ? .headUnit : .app
    }

    func audio(_ session: UInt8) -> AudioFormat? { sessions[session]?.audio }

    /// Notes how the audio will come that a PerformAudioPassThru asks for.
    mutating func record(_ request: RPCMessage, _ session: UInt8) {
        sessions[session]?.audio = AudioFormat(request)
    }

    /// The connection is closed. Its sessions keep their name until they are granted anew, so that
    /// the goodbye relayd says for them shows whose it is.
    mutating func forget(_ app: AppID) {
        identities[app] = nil
    }

    mutating func forgetSessions() {
        sessions = [:]
        pending = [:]
        unquestionedPayloadBytes = .max
    }
}
