// Answers the head unit owes to relayd itself, which must not reach any app. Pure; kept by
// `SessionRouter`.

package import NIOCore
package import SDLProtocol

/// Names a request that the router sent for somebody, and its answer.
package struct OwnRequestID: Hashable, Sendable {
    package let rawValue: UInt64
}

/// Requests that relayd sent in the place of an app and whose answers have not come, by session.
///
/// The answer names its request by correlation ID alone, and the numbers of sessions are granted
/// anew at once: real head units answered a minute late.
struct OwnRequests {
    enum Kind: Hashable {
        /// The end of a half message; what the message was, if it is known. One that its app said too
        /// late, but to its end, may succeed.
        case messageEnd(functionID: UInt32?, maySucceed: Bool = false)
        case unregister
        /// Sent for somebody who is told the answer.
        case asked(OwnRequestID, functionID: UInt32)
    }

    struct Request: Hashable {
        var session: UInt8
        var kind: Kind
        var correlationID: Int32
        /// After this an answer is somebody else's. Nil for ever, where the correlation ID is relayd's
        /// own.
        var expectedUntil: NIODeadline?
    }

    /// How long an answer is expected whose correlation ID is the app's: the next one may use it as
    /// well, and libraries give UnregisterAppInterface the same one every time. Refusals of ended half
    /// messages were measured with sdl_core 8.2.0: 61 ms at most, on a link in no hurry; a slow link
    /// holds the frame for longer than that.
    ///
    /// No option: nobody waits for this time to pass. It only has to be longer than any link takes,
    /// and shorter than an app needs to come to the same correlation ID again.
    static let patience = TimeAmount.seconds(30)

    /// Unanswered requests remembered of a session; the oldest is forgotten first.
    static let limitPerSession = 16

    /// Correlation IDs of requests that are asked for somebody. Libraries count from 1, and use some
    /// below 65,536 for their first and last request.
    static let correlationIDs: ClosedRange<Int32> = 0x7F00_0000...Int32.max
    /// Message IDs of these requests: no library counts as far, so that none of them continues, or is
    /// continued by, a message of the app.
    static let messageIDs: ClosedRange<UInt32> = 0xFF00_0000...UInt32.max

    private var requests: [Request] = []
    private var lastID: UInt64 = 0

    /// A new request of relayd's own, with the IDs that it goes by on the link.
    mutating func ask(
        functionID: UInt32, in session: UInt8
    ) -> (id: OwnRequestID, correlationID: Int32, messageID: UInt32) {
        lastID += 1
        let id = OwnRequestID(rawValue: lastID)
        let places = UInt64(Self.correlationIDs.count)
        let correlationID = Self.correlationIDs.lowerBound + Int32(lastID % places)
        let messageID = Self.messageIDs.lowerBound + UInt32(lastID % places)
        add(
            Request(
                session: session, kind: .asked(id, functionID: functionID),
                correlationID: correlationID))
        return (id, correlationID, messageID)
    }

    /// The link is gone. IDs are not given again.
    mutating func forgetAll() { requests = [] }

    /// Takes out what was asked in a session, or with nil in all: it will not be answered any more.
    mutating func takeAsked(in session: UInt8? = nil) -> [OwnRequestID] {
        var taken: [OwnRequestID] = []
        requests.removeAll { request in
            guard session == nil || request.session == session, let id = request.asked else {
                return false
            }
            taken.append(id)
            return true
        }
        return taken
    }

    /// Requests asked for somebody in this session that have no answer yet.
    func asked(in session: UInt8) -> Int {
        requests.count { $0.session == session && $0.asked != nil }
    }

    func owes(_ session: UInt8) -> Bool { requests.contains { $0.session == session } }

    mutating func add(_ request: Request) {
        // What is asked for somebody has a limit of its own; nobody may be left without an answer.
        let isOfGoodbye: (Request) -> Bool = { $0.session == request.session && $0.asked == nil }
        if request.asked == nil, requests.count(where: isOfGoodbye) >= Self.limitPerSession,
            let oldest = requests.firstIndex(where: isOfGoodbye)
        {
            requests.remove(at: oldest)
        }
        requests.append(request)
    }

    /// The head unit has acknowledged the end of the session, so it has got all that was said before.
    ///
    /// The refusals of ended half messages may still come: sdl_core handles control frames apart from
    /// messages, and an acknowledgement overtakes refusals on a slow link or a busy head unit. They
    /// are not expected for longer than other late words. Until then a failure with the same
    /// correlation ID and function is taken for the refusal. sdl_core refuses a message once, when it
    /// is ended or when it gives it up by itself, which `HalfMessages` notices, and in order: so the
    /// failure of the next app's own request comes second and reaches it. So it is with the answer to
    /// an app's own Unregister.
    mutating func sessionEnded(_ session: UInt8, lateWordsUntil deadline: NIODeadline) {
        for index in requests.indices
        where requests[index].session == session {
            requests[index].expectedUntil = requests[index].expectedUntil.map { min($0, deadline) }
        }
    }

    /// The request that this frame answers, taken out.
    mutating func answered(by frame: Frame, at now: NIODeadline) -> Request? {
        requests.removeAll { $0.expectedUntil.map { $0 <= now } ?? false }
        guard frame.type == .single, !frame.isEncrypted else { return nil }
        let index = requests.firstIndex {
            $0.session == frame.sessionID && $0.isAnswered(by: frame)
        }
        return index.map { requests.remove(at: $0) }
    }
}

extension OwnRequests.Request {
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
        case .asked(_, let functionID):
            return header.functionID == functionID || function == .genericResponse
        case .messageEnd(let functionID, let maySucceed):
            // What was ended never succeeds; a success is the answer to another's request.
            guard maySucceed || !frame.tellsSuccess else { return false }
            return header.functionID == HalfMessages.Half.endingFunctionID
                || function == .genericResponse || header.functionID == functionID
        }
    }
}

extension Frame {
    /// Of a response: its JSON says that the request has succeeded.
    var tellsSuccess: Bool {
        String(buffer: payload).filter { !$0.isWhitespace }.contains(#""success":true"#)
    }

    /// The head unit's response to UnregisterAppInterface with this correlation ID.
    func answersUnregister(_ correlationID: Int32) -> Bool {
        guard type == .single, version > 1, !isEncrypted, let header = RPCHeader(payload) else {
            return false
        }
        return header.type == .response && header.correlationID == correlationID
            && header.functionID == FunctionID.unregisterAppInterface.rawValue
    }
}

// MARK: - Asked for somebody

extension SessionRouter {
    /// Sends a request of relayd's own in an app's session. Its answer, or that none will come, is an
    /// action; it reaches no app.
    ///
    /// - Returns: Nil when the session is not open, is of protocol version 1 (whose answers name their
    ///   request in no header), or waits for as many answers as it may.
    package mutating func ask(
        _ function: FunctionID, _ parameters: String = "{}", bulk: ByteBuffer = ByteBuffer(),
        in session: UInt8, at now: NIODeadline
    ) -> OwnRequestID? {
        self.now = now
        guard isLinkUp, routes[session].phase == .open, let grant = grants[session],
            grant.version > 1, ownRequests.asked(in: session) < OwnRequests.limitPerSession
        else { return nil }
        let (id, correlationID, messageID) = ownRequests.ask(
            functionID: function.rawValue, in: session)
        routes[session].isWatched = true
        let request = Frame.rpc(
            version: grant.version, sessionID: session, messageID: messageID, type: .request,
            functionID: function.rawValue, correlationID: correlationID, json: parameters,
            bulk: bulk)
        actions.append(.toLink(request, from: .relay))
        return id
    }

    /// The session has ended, or with nil the link: nobody answers any more.
    mutating func giveUpAsked(in session: UInt8? = nil) {
        for id in ownRequests.takeAsked(in: session) { actions.append(.answer(id, nil)) }
    }
}
