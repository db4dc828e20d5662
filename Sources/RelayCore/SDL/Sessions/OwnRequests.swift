// Answers the head unit owes to relayd itself, which must not reach any app. Pure; kept by
// `SessionRouter`.

import NIOCore
import SDLProtocol

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

    private var requests: [Request] = []

    func owes(_ session: UInt8) -> Bool { requests.contains { $0.session == session } }

    mutating func add(_ request: Request) {
        if requests.count(where: { $0.session == request.session }) >= Self.limitPerSession,
            let oldest = requests.firstIndex(where: { $0.session == request.session })
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
