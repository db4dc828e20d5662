package import RelayCore

extension DropReason {
    /// A word for programs, which stays when the words for people change.
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
        case .askerGone: "asker_gone"
        case .leftTooFast: "left_too_fast"
        }
    }

    /// - Parameter session: For the reasons that name one: that of the frame.
    package init?(code: String, session: UInt8) {
        let all: [DropReason] = [
            .notItsSession(session), .noSuchSession(session), .farewell(session), .noLink,
            .secondaryTransport, .lateAnswer, .queueFull, .sessionOver(session),
            .endNotAsked(session), .lateWords(session), .emptyMessage, .messageTooLarge,
            .frameTooLarge, .answersRelay, .askerGone, .leftTooFast,
        ]
        guard let reason = all.first(where: { $0.code == code }) else { return nil }
        self = reason
    }
}

extension RelayNotice {
    /// A word for programs.
    package var code: String {
        switch self {
        case .stoppedSending: "stopped_sending"
        case .stoppedReading: "stopped_reading"
        case .fellBehind: "fell_behind"
        case .paced: "paced"
        case .garbage: "garbage"
        case .messageEnded: "message_ended"
        case .heartbeatAnswered: "heartbeat_answered"
        }
    }
}
