// Answers the head unit owes to relayd itself, which must not reach any app. Pure; kept by
// `SessionRouter`.

import NIOCore
import SDLProtocol

/// Identifies a request that the router sent for somebody, and its answer.
package struct OwnRequestID: Hashable, Sendable {
    package let rawValue: UInt64
}

/// Requests that relayd sent in place of an app and whose answers have not come, by session.
///
/// An answer names its request by correlation ID alone, and session numbers are granted again at once: real
/// head units have answered a minute late.
struct OwnRequests {
    enum Kind: Hashable {
        /// The end of a half message, with the message's function if it is known. A message that its app sent
        /// too late, but to its end, may succeed.
        case messageEnd(functionID: UInt32?, maySucceed: Bool = false)
        case unregister
        /// A request sent for somebody who is told the answer.
        case asked(OwnRequestID, functionID: UInt32)
        /// The same, when nobody waits for the answer any more.
        case late(functionID: UInt32)
    }

    struct Request: Hashable {
        var session: UInt8
        var kind: Kind
        var correlationID: Int32
        /// After this an answer belongs to another request. Nil for no limit, where the correlation ID is
        /// relayd's own.
        var expectedUntil: NIODeadline?
        /// When the caller is told that there is no answer.
        var deadline: NIODeadline?
    }

    /// How long an answer is expected whose correlation ID is the app's: the next app may use the same ID, and
    /// libraries give UnregisterAppInterface the same one every time. Refusals of ended half messages took
    /// 61 ms at most on an unhurried link (measured with sdl_core 8.2.0); a slow link holds the frame for longer
    /// than that.
    ///
    /// Not configurable: nobody waits for this time to pass. It only has to be longer than any link takes, and
    /// shorter than an app takes to reach the same correlation ID again.
    static let patience = TimeAmount.seconds(30)

    /// Unanswered requests remembered per session; the oldest is forgotten first.
    static let limitPerSession = 16

    /// Correlation IDs of requests sent for somebody. Libraries count from 1, and use some below 65,536 for
    /// their first and last request.
    static let correlationIDs: ClosedRange<Int32> = 0x7F00_0000...Int32.max
    /// Message IDs of these requests: no library counts that far, so that none of them continues, or is
    /// continued by, a message of the app.
    static let messageIDs: ClosedRange<UInt32> = 0xFF00_0000...UInt32.max

    private var requests: [Request] = []
    private var lastID: UInt64 = 0

    /// Correlation IDs for which relayd has had an answer, the latest last: a head unit may answer twice.
    private var spent: [(session: UInt8, correlationID: Int32)] = []
    /// For all sessions together.
    private static let spentLimit = 256

    private var lastCorrelation: UInt64 = 0
    private var lastMessage: UInt64 = 0

    var isEmpty: Bool { requests.isEmpty }

    mutating func nextID() -> OwnRequestID {
        lastID += 1
        return OwnRequestID(rawValue: lastID)
    }

    mutating func nextMessageID() -> UInt32 {
        lastMessage &+= 1
        return Self.messageIDs.lowerBound + UInt32(lastMessage % UInt64(Self.messageIDs.count))
    }

    /// A correlation ID that neither the app nor relayd uses in the session.
    mutating func nextCorrelationID(in session: UInt8, besides app: AppRequests) -> Int32 {
        // Some thousand IDs are in use at most, of sixteen million.
        while true {
            lastCorrelation &+= 1
            let offset = Int32(lastCorrelation % UInt64(Self.correlationIDs.count))
            let candidate = Self.correlationIDs.lowerBound + offset
            if !app.isUsed(candidate, in: session), !isUsed(candidate, in: session) {
                return candidate
            }
        }
    }

    /// Whether an answer with this ID would be taken for one to relayd.
    func isUsed(_ correlationID: Int32, in session: UInt8) -> Bool {
        requests.contains { $0.session == session && $0.correlationID == correlationID }
    }

    /// Whether relayd has had an answer with this ID in the session.
    func isSpent(_ correlationID: Int32, in session: UInt8) -> Bool {
        spent.contains { $0.correlationID == correlationID && $0.session == session }
    }

    private mutating func spend(_ request: Request) -> Request {
        switch request.kind {
        case .asked, .late:
            if spent.count >= Self.spentLimit { spent.removeFirst() }
            spent.append((request.session, request.correlationID))
        case .messageEnd, .unregister: break
        }
        return request
    }

    /// Whether an app's frame may be a request with one of relayd's correlation IDs; checked for every frame,
    /// and rarely wrong. In frames with other headers the byte means something else.
    @inline(__always)
    static func mayBeMeant(by frame: Frame) -> Bool {
        let wire = frame.wire
        return wire.getInteger(at: wire.readerIndex + 16, as: UInt8.self) == 0x7F
    }

    /// Whether the frame is such a request, or the start of one whose first frame came before.
    static func isMeant(by frame: Frame) -> Bool {
        guard mayBeMeant(by: frame), frame.service.carriesRPC, !frame.isEncrypted,
            frame.version > 1,
            frame.type == .single || frame.type == .consecutive && frame.info <= 1,
            let header = RPCHeader(frame.payload)
        else { return false }
        // The rest of a file may look like a header, but is unlikely to match all of this.
        return header.type == .request && correlationIDs.contains(header.correlationID)
            && header.jsonBytes <= frame.payloadBytes
    }

    /// Adds a request of relayd's own. Returns its ID and the correlation ID that it has on the link.
    mutating func ask(
        functionID: UInt32, in session: UInt8, besides app: AppRequests,
        until deadline: NIODeadline? = nil
    ) -> (id: OwnRequestID, correlationID: Int32) {
        let id = nextID()
        let correlationID = nextCorrelationID(in: session, besides: app)
        add(
            Request(
                session: session, kind: .asked(id, functionID: functionID),
                correlationID: correlationID, deadline: deadline))
        return (id, correlationID)
    }

    /// When the first of the requests that somebody waits for is given up.
    var nextDeadline: NIODeadline? {
        requests.isEmpty ? nil : requests.compactMap(\.deadline).min()
    }

    /// Gives up requests that have not been answered in time. Their answers may still come, and reach nobody.
    mutating func takeOverdue(at now: NIODeadline) -> [OwnRequestID] {
        guard !requests.isEmpty else { return [] }
        return giveUp { $0.deadline.map { $0 <= now } ?? false }
    }

    /// Gives up a request that nobody waits for any more. Its answer may still come, and reaches nobody.
    mutating func giveUp(_ id: OwnRequestID) {
        _ = giveUp { $0.asked == id }
    }

    private mutating func giveUp(
        until expectedUntil: NIODeadline? = nil, _ isOver: (Request) -> Bool
    ) -> [OwnRequestID] {
        var given: [OwnRequestID] = []
        for index in requests.indices where isOver(requests[index]) {
            guard case .asked(let id, let functionID) = requests[index].kind else { continue }
            given.append(id)
            requests[index].kind = .late(functionID: functionID)
            requests[index].deadline = nil
            requests[index].expectedUntil = expectedUntil
        }
        for session in Set(given.isEmpty ? [] : requests.map(\.session)) { forgetOldest(session) }
        return given
    }

    /// Forgets the oldest late answers: no more are expected than requests may be asked.
    private mutating func forgetOldest(_ session: UInt8) {
        let isLate: (Request) -> Bool = { $0.session == session && $0.isLate }
        while requests.count(where: isLate) > Self.limitPerSession,
            let oldest = requests.firstIndex(where: isLate)
        {
            requests.remove(at: oldest)
        }
    }

    /// Forgets all requests of a link that is gone. IDs are not reused.
    mutating func forgetAll() { (requests, spent) = ([], []) }

    /// Gives up the requests of a session, or with nil of all: nobody waits for their answers any more.
    ///
    /// - Parameter deadline: Until when an answer may come all the same, in the next session with the number.
    mutating func takeAsked(in session: UInt8?, lateUntil deadline: NIODeadline) -> [OwnRequestID] {
        spent.removeAll { session == nil || $0.session == session }
        guard !requests.isEmpty else { return [] }
        for index in requests.indices
        where requests[index].isLate && (session == nil || requests[index].session == session) {
            requests[index].expectedUntil = requests[index].expectedUntil ?? deadline
        }
        return giveUp(until: deadline) { session == nil || $0.session == session }
    }

    /// The number of requests sent for somebody in this session that have no answer yet.
    func asked(in session: UInt8) -> Int {
        requests.count { $0.session == session && $0.asked != nil }
    }

    func owes(_ session: UInt8) -> Bool { requests.contains { $0.session == session } }

    mutating func add(_ request: Request) {
        // Requests sent for somebody have a limit of their own; nobody may be left without an answer.
        let isOfGoodbye: (Request) -> Bool = {
            $0.session == request.session && $0.asked == nil && !$0.isLate
        }
        if request.asked == nil, requests.count(where: isOfGoodbye) >= Self.limitPerSession,
            let oldest = requests.firstIndex(where: isOfGoodbye)
        {
            requests.remove(at: oldest)
        }
        requests.append(request)
    }

    /// Notes that the head unit has acknowledged the end of the session, so it has got everything sent before.
    ///
    /// The refusals of ended half messages may still come: sdl_core handles control frames apart from messages,
    /// and an acknowledgement overtakes refusals on a slow link or a busy head unit. They are expected no
    /// longer than other late words. Until then a failure with the same correlation ID and function is taken
    /// for the refusal. sdl_core refuses a message once, when it is ended or when it gives it up by itself,
    /// which `HalfMessages` notices, and in order: so the failure of the next app's own request comes second
    /// and reaches that app. The same holds for the answer to an app's own Unregister.
    mutating func sessionEnded(_ session: UInt8, lateWordsUntil deadline: NIODeadline) {
        for index in requests.indices
        where requests[index].session == session {
            requests[index].expectedUntil = requests[index].expectedUntil.map { min($0, deadline) }
        }
    }

    /// Takes out the request that this frame answers.
    mutating func answered(by frame: Frame, at now: NIODeadline) -> Request? {
        requests.removeAll { $0.expectedUntil.map { $0 <= now } ?? false }
        guard frame.type == .single, !frame.isEncrypted else { return nil }
        let index = requests.firstIndex {
            $0.session == frame.sessionID && $0.isAnswered(by: frame)
        }
        return index.map { spend(requests.remove(at: $0)) }
    }

    /// Takes out the request, sent for somebody, that a multi-frame answer with this header answers. The
    /// goodbye's own requests have short answers.
    mutating func answered(
        by header: RPCHeader, in session: UInt8, at now: NIODeadline
    ) -> Request? {
        requests.removeAll { $0.expectedUntil.map { $0 <= now } ?? false }
        guard header.type == .response else { return nil }
        let index = requests.firstIndex { request in
            guard request.session == session, request.correlationID == header.correlationID else {
                return false
            }
            switch request.kind {
            case .asked(_, let functionID), .late(let functionID):
                return header.functionID == functionID
            case .messageEnd, .unregister: return false
            }
        }
        return index.map { spend(requests.remove(at: $0)) }
    }
}

extension OwnRequests.Request {
    fileprivate var isLate: Bool {
        if case .late = kind { true } else { false }
    }

    fileprivate var asked: OwnRequestID? {
        if case .asked(let id, _) = kind { id } else { nil }
    }

    fileprivate func isAnswered(by frame: Frame) -> Bool {
        guard frame.version > 1 else {
            // v1 has no binary header (SDL protocol spec, "RPC payload").
            let text = String(buffer: frame.payload)
            return kind == .unregister && text.contains("\"response\"")
                && text.contains("UnregisterAppInterface") && text.contains("\(correlationID)")
        }
        guard let header = RPCHeader(frame.payload), header.type == .response,
            header.correlationID == correlationID
        else { return false }
        let function = FunctionID(rawValue: header.functionID)
        switch kind {
        case .unregister: return function == .unregisterAppInterface
        case .asked(_, let functionID), .late(let functionID):
            return header.functionID == functionID || function == .genericResponse
        case .messageEnd(let functionID, let maySucceed):
            // An ended message never succeeds; a success is the answer to another request.
            guard maySucceed || !frame.tellsSuccess else { return false }
            return header.functionID == HalfMessages.Half.endingFunctionID
                || function == .genericResponse || header.functionID == functionID
        }
    }
}

extension Frame {
    /// Whether the JSON of a response says that the request has succeeded.
    var tellsSuccess: Bool {
        String(buffer: payload).filter { !$0.isWhitespace }.contains(#""success":true"#)
    }

    /// Whether this is the head unit's response to UnregisterAppInterface with this correlation ID.
    func answersUnregister(_ correlationID: Int32) -> Bool {
        guard type == .single, version > 1, !isEncrypted, let header = RPCHeader(payload) else {
            return false
        }
        return header.type == .response && header.correlationID == correlationID
            && header.functionID == FunctionID.unregisterAppInterface.rawValue
    }
}
