import RelayCore
import SDLAdvice
import SDLProtocol

/// The sessions on the link, as far as `TrafficDecoder` needs them to name and pair messages: the apps that
/// own them, their names and unanswered requests.
struct SessionDirectory: Sendable {
    /// The identity that an app gives in RegisterAppInterface.
    struct Identity: Sendable {
        var name: String?
        var appID: String?
    }

    /// A RegisterAppInterface, as far as it changes the facts of its session.
    private struct Registration: Sendable {
        var identity: Identity
        var mayStream: Bool
        var correlationID: Int32?
    }

    private struct Session: Sendable {
        var app: AppID?
        var identity: Identity?
        /// Whether the head unit has accepted a registration that has not ended.
        var isRegistered = false
        /// The correlation ID of the unanswered registration, which is in effect until it is refused.
        var asked: Int32?
        /// A further registration, which takes effect once it is accepted.
        var next: Registration?
        /// The format requested by the latest PerformAudioPassThru.
        var audio: AudioFormat?
        /// Whether the app registered as NAVIGATION or PROJECTION, which may stream.
        var mayStream = false
        /// The level of the main window; nil until a registration has succeeded.
        var level: HMILevel?
        /// In bytes, from the ACKs of the session's services.
        var mtu: [ServiceType: Int] = [:]
        /// Large frames that were already reported.
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
    /// The unanswered requests of each session.
    var pending: [UInt8: PendingRequests] = [:]
    /// Sessions in which a request became late, in order.
    func lateSessions(at now: Int64) -> [UInt8] {
        pending.filter { now >= $0.value.nextDeadline ?? .max }.keys.sorted()
    }

    /// Payload bytes that fit in every session; larger frames are examined.
    private(set) var unquestionedPayloadBytes = Int.max

    func app(_ session: UInt8) -> AppID? { sessions[session]?.app }

    func sessions(of app: AppID) -> [UInt8] {
        sessions.filter { $0.value.app == app }.keys.sorted()
    }

    /// A session's own name takes precedence over its connection's: a connection may carry several apps.
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

    /// It is not agreed what `mtu` counts: a frame that fits by every reading is smaller than it by this
    /// much, the header of v2 and later.
    private static let headerBytes = FrameHeader.bytes(version: 2)

    /// Notes how large the frames of a service may be (SDL protocol spec, "MTU": from v5 on).
    mutating func limit(_ ack: TappedFrame) {
        guard ack.frame.version >= 5,
            let mtu = ControlPayload(ack.frame).mtu, mtu <= Int64(Int32.max)
        else { return }
        sessions[ack.frame.sessionID]?.mtu[ack.frame.service] = Int(mtu)
        unquestionedPayloadBytes = min(unquestionedPayloadBytes, Int(mtu) - Self.headerBytes)
    }

    /// The report about a frame larger than `unquestionedPayloadBytes`; nil when its own session's limit is
    /// larger, or when it was reported before.
    mutating func judge(_ tapped: TappedFrame) -> LargeFrame? {
        let frame = tapped.frame
        guard let session = sessions[frame.sessionID] else { return nil }
        // Bulk has no ACK of its own: it belongs to the RPC service.
        let mtu = session.mtu[frame.service] ?? session.mtu[.rpc]
        guard let mtu, frame.payloadBytes > mtu - Self.headerBytes else { return nil }
        let large = LargeFrame(payloadBytes: frame.payloadBytes, mtu: mtu)
        let key = LargeFrameKey(
            service: frame.service, direction: tapped.direction, exceeds: large.exceeds)
        let isNew = sessions[frame.sessionID]?.largeFrames.insert(key).inserted ?? false
        return isNew ? large : nil
    }

    /// Notes the name and ID that an app registers with. Its first registration takes effect at once, so that
    /// its own line already has the name. A further one takes effect when it is accepted: most are refused,
    /// and change nothing.
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

    /// Handles the head unit's answer to a registration.
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
            // The registration requested after it is now the first one.
            if let next { count(next, of: id, app ?? session.app) }
        }
    }

    /// After a gap: registered apps may no longer be registered, and pending registrations may have been
    /// granted.
    mutating func forgetRegistrations() {
        for (id, session) in sessions {
            if let next = session.next { count(next, of: id, session.app) }
            sessions[id]?.isRegistered = false
            sessions[id]?.asked = nil
        }
    }

    /// The name; nil when nothing of it is visible, as if the app had none.
    private static func visible(_ name: String) -> String? {
        let isVisible = name.unicodeScalars.contains {
            !$0.properties.isWhitespace && !VisibleScalars.isInvisible($0)
        }
        return isVisible ? name : nil
    }

    /// Notes what determines whether the app may stream.
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

    /// The side at fault when the head unit refuses a service, or does not answer.
    func fault(_ service: ServiceType, of session: UInt8, rejects: Bool = false) -> FaultSide {
        guard service.isStream, let known = sessions[session] else {
            return rejects ? .app : .headUnit
        }
        let isVisible = known.level == .full || known.level == .limited
        return known.mayStream && isVisible && !rejects ? .headUnit : .app
    }

    func audio(_ session: UInt8) -> AudioFormat? { sessions[session]?.audio }

    /// Notes the audio format that a PerformAudioPassThru requests.
    mutating func record(_ request: RPCMessage, _ session: UInt8) {
        sessions[session]?.audio = AudioFormat(request)
    }

    /// Forgets a closed connection. Its sessions keep their name until they are granted anew, so that
    /// relayd's goodbye for them shows the app's name.
    mutating func forget(_ app: AppID) {
        identities[app] = nil
    }

    mutating func forgetSessions() {
        sessions = [:]
        pending = [:]
        unquestionedPayloadBytes = .max
    }
}
