package import RelayCore

extension RelayNotice {
    /// The notice as a word for programs.
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
