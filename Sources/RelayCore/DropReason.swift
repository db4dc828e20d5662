/// Why a frame was not passed on: counted, logged and shown in status.
package enum DropReason: Hashable, Sendable {
    /// An app used a session that another app owns or nobody has.
    case notItsSession(UInt8)
    /// The head unit sent a frame for a session no app has.
    case noSuchSession(UInt8)
    /// The head unit's answers to a goodbye said for an app that left.
    case farewell(UInt8)
    /// An app sent session data while there was no link.
    case noLink
    /// The app asks for a second transport around the relay.
    case secondaryTransport
    /// An answer to a StartService whose app is gone or was told to stop waiting.
    case lateAnswer
    /// More StartServices are waiting than the queue may hold.
    case queueFull
    /// A frame of an app for a session that is over: the app or the head unit ended it, possibly while the
    /// frame waited for the link.
    case sessionOver(UInt8)
    /// An app acknowledged an end of its session that the head unit had not requested.
    case endNotAsked(UInt8)
    /// A frame that the head unit still sends in a session that is over.
    case lateWords(UInt8)
    /// A message that announces no bytes.
    case emptyMessage
    /// A message that announces more bytes than a message may have.
    case messageTooLarge
    /// A frame larger than the head unit takes.
    case frameTooLarge
    /// The answer to a request of relayd's own.
    case answersRelay
    /// An app sent something in an audio or video service that relayd uses in its place.
    case serviceOfRelay
    /// A StartService among the last frames of an app that has hung up: it could not hear the answer.
    case askerGone
    /// An app sent faster than the head unit tolerates, and left before the frame's turn came.
    case leftTooFast
    /// Dropped by this fault rule; 0 when its number is not known.
    case fault(UInt32)
}

extension DropReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notItsSession(let session): "session \(session) is not this app's"
        case .noSuchSession(let session): "no app has session \(session)"
        case .farewell(let session): "answer to the end of session \(session), whose app left"
        case .noLink: "no head unit connected"
        case .secondaryTransport: "secondary transports would bypass the relay"
        case .lateAnswer: "StartService answer that nobody waits for any more"
        case .queueFull: "too many StartServices waiting"
        case .sessionOver(let session): "session \(session) has been ended"
        case .endNotAsked(let session):
            "EndServiceACK, but the head unit has not ended session \(session)"
        case .lateWords(let session):
            "late frame of session \(session), whose former app is gone"
        case .emptyMessage: "first frame of a message of 0 bytes"
        case .messageTooLarge: "message larger than apps.message_limit"
        case .frameTooLarge: "frame larger than the head unit takes"
        case .answersRelay: "answer to a request of relayd's own"
        case .serviceOfRelay: "relayd uses the service in the app's place"
        case .askerGone: "StartService of an app that has left"
        case .leftTooFast:
            "the app left behind more frames than apps.frames_per_second lets through in 2 s"
        case .fault(0): "a fault rule"
        case .fault(let rule): "fault rule \(rule)"
        }
    }
}

extension DropReason {
    /// A word for programs, without numbers. It stays the same when the words for people change.
    package var code: String {
        switch self {
        case .notItsSession: "not_its_session"
        case .noSuchSession: "no_such_session"
        case .farewell: "farewell"
        case .noLink: "no_link"
        case .secondaryTransport: "secondary_transport"
        case .lateAnswer: "late_answer"
        case .queueFull: "queue_full"
        case .sessionOver: "session_over"
        case .endNotAsked: "end_not_asked"
        case .lateWords: "late_words"
        case .emptyMessage: "empty_message"
        case .messageTooLarge: "message_too_large"
        case .frameTooLarge: "frame_too_large"
        case .answersRelay: "answers_relay"
        case .serviceOfRelay: "service_of_relay"
        case .askerGone: "asker_gone"
        case .leftTooFast: "left_too_fast"
        case .fault: "fault"
        }
    }

    /// - Parameter session: The frame's session, for the reasons that name one.
    package init?(code: String, session: UInt8) {
        let all: [DropReason] = [
            .notItsSession(session), .noSuchSession(session), .farewell(session), .noLink,
            .secondaryTransport, .lateAnswer, .queueFull, .sessionOver(session),
            .endNotAsked(session), .lateWords(session), .emptyMessage, .messageTooLarge,
            .frameTooLarge, .answersRelay, .serviceOfRelay, .askerGone, .leftTooFast, .fault(0),
        ]
        guard let reason = all.first(where: { $0.code == code }) else { return nil }
        self = reason
    }
}
