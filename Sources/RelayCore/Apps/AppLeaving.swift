/// How an app left that closed its own connection, judged by what it had sent before.
package enum AppLeaving: Hashable, Sendable {
    /// It had no session.
    case unused
    /// A client of an accessory that knows no sessions.
    case client
    /// It had ended all its sessions.
    case ended
    /// It had unregistered, and left the end of its session to others.
    case unregistered
    /// It left without a word.
    case vanished
    /// It left in the middle of a message, e.g. "PutFile".
    case vanishedInside(message: String, bytes: UInt64, of: UInt64)
    /// It left in the middle of a unit, after this many bytes of it.
    case vanishedInsideUnit(bytes: Int)
}

extension AppLeaving: CustomStringConvertible {
    package var description: String {
        switch self {
        case .client: "the client closed the connection"
        case .unused: "the app closed the connection; it had no session"
        case .ended: "the app ended its session and closed the connection"
        case .unregistered: "the app unregistered and closed the connection"
        case .vanished: "the app vanished: it closed the connection without unregistering"
        case .vanishedInside(let message, let bytes, let all):
            "the app vanished in the middle of \(message), after \(bytes) of \(all) bytes"
        case .vanishedInsideUnit(let bytes):
            "the app vanished in the middle of a frame, after \(bytes) byte\(bytes == 1 ? "" : "s") of it"
        }
    }
}
