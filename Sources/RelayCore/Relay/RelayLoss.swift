/// An unexpected loss, such as a crashed app or a lost link. It can trigger the flight recorder.
package enum RelayLoss: Hashable, Sendable {
    /// An app left without unregistering, or its connection broke.
    case app(AppID, reason: String)
    /// The link ended, and not because relayd ended it.
    case link(reason: String)
}

extension CloseReason {
    /// Whether it looks like a crash: the app had a session and left without a word, or its connection broke.
    var isCrash: Bool {
        switch self {
        case .connectionError, .reset, .left(.vanished), .left(.vanishedInside),
            .left(.vanishedInsideUnit):
            true
        default: false
        }
    }
}
