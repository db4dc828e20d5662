// The two ways in, and who comes by each: the Unix socket and the dashboard's port. `ControlServer`
// serves both with the same routes and limits.

import ControlAPI
import NIOCore

enum ControlDoor: Sendable {
    /// The kernel says who is at the other end.
    case unixSocket(WritePolicy)
    /// The token says that somebody may.
    case port(RequestGate)

    /// What a request has to pass before anything looks at it.
    var gate: RequestGate {
        switch self {
        case .unixSocket: .unixSocket
        case .port(let gate): gate
        }
    }

    /// Who wants to change something, for the log. The gate has been passed by then.
    ///
    /// - Throws: `APIError` when they may not.
    func admit(_ channel: any Channel) async throws -> String {
        switch self {
        case .port:
            let peer = channel.remoteAddress
            let address = peer?.ipAddress.map { " from \($0):\(peer?.port ?? 0)" } ?? ""
            return "the dashboard's token\(address)"
        case .unixSocket(let policy):
            guard let peer = try await ControlPeer.of(channel) else {
                throw APIError(.forbidden, "relayd cannot tell who asks, so nothing is changed")
            }
            guard policy.allows(peer) else {
                throw APIError(.forbidden, policy.refusal(of: peer))
            }
            return "uid \(peer.uid) pid \(peer.pid)"
        }
    }
}
