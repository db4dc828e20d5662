import ControlAPI
import NIOCore

/// One of the two ways in, the Unix socket and the dashboard's port, and who comes by it.
/// `ControlServer` serves both with the same routes and limits.
struct ControlEndpoint: Sendable {
    enum Kind: Sendable {
        /// The kernel says who is at the other end.
        case unixSocket(WritePolicy)
        /// The token says that somebody may.
        case port
    }

    let kind: Kind
    /// What a request has to pass before anything else looks at it.
    let gate: RequestGate
    /// Who has how many connections and streams.
    let shares: ControlShares
    /// Who is at the other end of a connection.
    let identify: Identify

    /// The peer of a connection to the Unix socket; nil when it cannot be told.
    typealias Identify = @Sendable (any Channel) async throws -> ControlPeer?

    /// Who wants to change something, for the log. The gate has been passed by then.
    ///
    /// - Throws: `APIError` when they may not.
    func admit(_ channel: any Channel) async throws -> String {
        switch kind {
        case .port:
            return "the dashboard's token" + Self.address(of: channel)
        case .unixSocket(let policy):
            guard let peer = try await identify(channel) else {
                throw APIError(.forbidden, "relayd cannot tell who asks, so nothing is changed")
            }
            guard policy.allows(peer) else {
                throw APIError(.forbidden, policy.refusal(of: peer))
            }
            return peer.description
        }
    }

    /// Who wants to drive the conversation, for the log. The gate has been passed by then.
    ///
    /// - Throws: `APIError` when they may not.
    func admitToDrive(_ channel: any Channel) async throws -> String {
        switch kind {
        case .port:
            return "the dashboard's token" + Self.address(of: channel)
        case .unixSocket(let policy):
            guard let peer = try await identify(channel) else {
                throw APIError(.forbidden, "relayd cannot tell who asks, so nothing is done")
            }
            guard policy.isOwner(peer) else {
                throw APIError(.forbidden, policy.driveRefusal(of: peer))
            }
            return peer.description
        }
    }

    /// Who is at the other end, as far as places go; nil when it has left already. On the channel's
    /// loop.
    func peer(of channel: any Channel) -> ControlShares.Peer? {
        switch kind {
        case .port: return channel.remoteAddress?.ipAddress.map { .address(Self.machine(at: $0)) }
        case .unixSocket:
            let operations = channel.pipeline.syncOperations
            let found = try? operations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { descriptor in
                ControlPeer.credentials(of: descriptor).map { peer in
                    ControlShares.Peer.user(
                        peer.uid == UnknownIDs.current.user ? nil : peer.uid)
                }
            }
            return found ?? nil
        }
    }

    /// Every user of this machine has all of its loopback addresses, so they count as one.
    private static func machine(at address: String) -> String {
        let isLoopback =
            address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
        return isLoopback ? "127.0.0.1" : address
    }

    /// " from ADDRESS:PORT", for the log; empty on the Unix socket.
    static func address(of channel: any Channel) -> String {
        let peer = channel.remoteAddress
        return peer?.ipAddress.map { " from \($0):\(peer?.port ?? 0)" } ?? ""
    }
}
