import SDLProtocol

/// The colours of a line on a terminal, as people know them from the RPC Builder console: requests blue,
/// success green, warnings yellow, failures red; notifications have a colour of their own. Used by
/// `LineBuilder` and `TrafficTextFormat`.
enum LineColour: Sendable {
    case request
    case success
    case warning
    case failure
    case notification
    case unimportant

    var code: StaticString {
        switch self {
        case .request: "\u{1B}[34m"
        case .success: "\u{1B}[32m"
        case .warning: "\u{1B}[33m"
        case .failure: "\u{1B}[1;31m"
        case .notification: "\u{1B}[36m"
        case .unimportant: "\u{1B}[2m"
        }
    }
}

extension RPCEntry {
    /// The colour that the RPC Builder console gives the message.
    var colour: LineColour {
        switch message.type {
        case .request: .request
        case .notification: .notification
        case .response:
            switch outcome {
            case let outcome? where outcome.success: outcome.isWarning ? .warning : .success
            case let outcome?
            where outcome.resultCode == "ABORTED" || outcome.resultCode == "TIMED_OUT":
                .warning
            default: .failure
            }
        }
    }
}
