// Why a frame was not passed on: counted, logged and shown in status.

/// Why a frame was not passed on.
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
}

extension DropReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notItsSession(let session): "session \(session) is not this app's"
        case .noSuchSession(let session): "no app has session \(session)"
        case .farewell(let session): "answer to the goodbye of session \(session), whose app left"
        case .noLink: "no head unit connected"
        case .secondaryTransport: "secondary transports would bypass the relay"
        case .lateAnswer: "StartService answer that nobody waits for any more"
        case .queueFull: "too many StartServices waiting"
        }
    }
}
