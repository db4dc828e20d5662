package import ControlAPI
import Synchronization

/// The places of one endpoint: how many connections and streams one client may have, so that no
/// client can take them all. Asked for each connection and each stream.
package final class ControlShares: Sendable {
    /// The client that shares are counted for.
    package enum Peer: Hashable, Sendable, CustomStringConvertible {
        /// A user of this machine; nil when the kernel cannot name it.
        case user(UInt32?)
        /// Everybody at this address. For this machine's own address these are all its users.
        case address(String)

        package var description: String {
            switch self {
            case .user(let uid): uid.map { "uid \($0)" } ?? "an unknown user"
            case .address(let address): address
            }
        }
    }

    /// The limits of one endpoint.
    package struct Limits: Sendable, Equatable {
        /// The section of the configuration that the limits come from: `control` or `dashboard`.
        package var section = "control"
        /// Simultaneous connections. The owner may exceed this, as far as `ControlPlaces` has room.
        package var connections: Int
        /// Connections reserved for the owner and root; on TCP nobody can be recognised as one.
        package var reservedConnections: Int
        package var connectionsOfPeer: Int
        /// Streams of one peer. Its other connections are for requests that end.
        package var streamsOfPeer: Int
        /// Additional streams of a peer that may make changes.
        package var reservedStreams: Int
    }

    private struct State {
        var connections: [Peer: Int] = [:]
        var total = 0
        /// Clients that are being turned away.
        var turnedAway = 0
        var streams: [Peer: Int] = [:]
    }
    private let state = Mutex(State())
    let limits: Limits
    private let overflow: ControlOverflow
    /// The user relayd runs as.
    private let owner: UInt32

    package init(_ limits: Limits, owner: UInt32, overflow: ControlOverflow) {
        self.limits = limits
        self.owner = owner
        self.overflow = overflow
    }

    /// A place that is given back when the last reference to it goes.
    package final class Place: Sendable {
        private let giveBack: @Sendable () -> Void

        fileprivate init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

        deinit { giveBack() }
    }

    /// There is no place left; names the limit that was reached.
    package struct Full: Error, Equatable {
        package let limit: ControlOverflow.Limit
    }

    /// A place for a connection.
    ///
    /// - Throws: `Full` if the peer has its share already, or the remaining places are not for it.
    package func connect(_ peer: Peer) throws(Full) -> Place {
        let isOwner = isOwner(peer)
        var isBeyond = false
        let obstacle: ControlOverflow.Limit? = state.withLock { state in
            let count = state.connections[peer, default: 0]
            if !isOwner {
                if count >= limits.connectionsOfPeer { return limits.ofPeer }
                if state.total >= limits.connections - limits.reservedConnections {
                    return limits.all
                }
            }
            isBeyond = state.total >= limits.connections
            state.connections[peer] = count + 1
            state.total += 1
            return nil
        }
        if let obstacle {
            overflow.countHit(of: obstacle)
            throw Full(limit: obstacle)
        }
        if isBeyond { overflow.countHit(of: limits.all) }
        return Place { [self] in
            state.withLock { state in
                state.connections.countDown(peer)
                state.total -= 1
            }
        }
    }

    /// Connections turned away with an answer at the same time. Further ones are closed without an
    /// answer: a client that connects that often does not read it.
    package static let maximumTurnedAway = 16

    /// A place for a client that is being turned away; nil if there are too many at the moment.
    package func turnAway() -> Place? {
        let hasRoom = state.withLock { state in
            guard state.turnedAway < Self.maximumTurnedAway else { return false }
            state.turnedAway += 1
            return true
        }
        return hasRoom ? Place { [self] in state.withLock { $0.turnedAway -= 1 } } : nil
    }

    /// A place for a stream.
    ///
    /// - Parameter isPrivileged: Whether the request has shown that it may change something.
    /// - Throws: `APIError` if the peer has its share already.
    package func stream(_ peer: Peer, isPrivileged: Bool) throws(APIError) -> Place {
        let limit = limits.streamsOfPeer + (isPrivileged ? limits.reservedStreams : 0)
        let isOwner = isOwner(peer)
        let isIn = state.withLock { state in
            let count = state.streams[peer, default: 0]
            guard isOwner || count < limit else { return false }
            state.streams[peer] = count + 1
            return true
        }
        guard isIn else {
            overflow.countHit(of: limits.streams)
            guard limit > 0 else {
                throw APIError(
                    .tooMany,
                    """
                    no \(peer.word) may have streams (\(limits.streams.name): 0); ask for the list \
                    of messages or events instead, or raise the limit
                    """)
            }
            throw APIError(
                .tooMany,
                """
                there are \(limit) streams of this \(peer.word) already, as many as one may have \
                (\(limits.streams.name)); end one of them, or ask for what was with follow=0 a little \
                later
                """)
        }
        return Place { [self] in
            state.withLock { $0.streams.countDown(peer) }
        }
    }

    /// The owner and root may use up all places: the socket is theirs.
    private func isOwner(_ peer: Peer) -> Bool { peer == .user(owner) || peer == .user(0) }
}

extension ControlShares.Peer {
    fileprivate var word: String {
        switch self {
        case .user: "user"
        case .address: "address"
        }
    }
}

extension Dictionary where Value == Int {
    /// Removes a peer at zero, so that the dictionary does not grow with every peer that ever
    /// connected.
    fileprivate mutating func countDown(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}

extension ControlShares.Limits {
    /// The limits of the Unix socket. The four places reserved for root and relayd's own user are
    /// not an option: that many are needed to look and to fix things, whatever the limits are.
    package init(_ control: Config.Control) {
        self.init(
            section: "control", connections: control.connections, reservedConnections: 4,
            connectionsOfPeer: control.connectionsPerPeer,
            streamsOfPeer: control.streamsPerPeer, reservedStreams: 0)
    }

    /// The limits of the dashboard's port. The eight streams reserved for those who have the token
    /// are not an option: they allow a page or two more, for somebody who may end the others.
    package init(_ dashboard: Config.Dashboard) {
        self.init(
            section: "dashboard", connections: dashboard.connections, reservedConnections: 0,
            connectionsOfPeer: dashboard.connectionsPerPeer,
            streamsOfPeer: dashboard.streamsPerPeer, reservedStreams: 8)
    }

    /// All places are taken.
    var all: ControlOverflow.Limit { .init(section, .connections, connections) }
    /// One peer has its share of connections.
    var ofPeer: ControlOverflow.Limit { .init(section, .connectionsPerPeer, connectionsOfPeer) }
    /// One peer has its share of streams.
    var streams: ControlOverflow.Limit { .init(section, .streamsPerPeer, streamsOfPeer) }
}
