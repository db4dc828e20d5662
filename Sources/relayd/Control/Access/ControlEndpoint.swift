import ControlAPI
import NIOCore

/// One of the two entrances, the Unix socket and the dashboard's port, and who comes in by it.
/// `ControlServer` serves both with the same routes and limits.
struct ControlEndpoint: Sendable {
    enum Kind: Sendable {
        /// The kernel identifies the peer.
        case unixSocket(WritePolicy)
        /// The token proves that a client is authorised.
        case port
    }

    let kind: Kind
    /// The gate a request has to pass before anything else looks at it.
    let gate: RequestGate
    /// Counts the connections and streams of each client.
    let shares: ControlShares
    /// Identifies the peer of a connection.
    let identify: Identify

    /// Returns the peer of a connection to the Unix socket; nil if it cannot be determined.
    typealias Identify = @Sendable (any Channel) async throws -> ControlPeer?

    /// Names who wants to make a change, for the log. Called after the gate.
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

    /// Names who wants to drive the conversation, for the log. Called after the gate.
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

    /// The peer that places are counted for; nil if it has left already. Called on the channel's
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

    /// Every user of this machine can use all of its loopback addresses, so they count as one.
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
