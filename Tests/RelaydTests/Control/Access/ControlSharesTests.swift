import ControlAPI
import Testing

@testable import relayd

@Suite("Shares of the control API")
struct ControlSharesTests {
    private let overflow = ControlOverflow()

    private func shares(reservedStreams: Int = 0) -> ControlShares {
        ControlShares(
            .init(
                connections: 10, reservedConnections: 2, connectionsOfPeer: 3, streamsOfPeer: 2,
                reservedStreams: reservedStreams), owner: 900, overflow: overflow)
    }

    @Test("a peer has its share of connections, gets it back as they end, and no more")
    func share() throws {
        let shares = shares()
        var places = try (0..<3).map { _ in try shares.connect(.user(1)) }
        let full = ControlShares.Full(limit: .init("control", .connectionsPerPeer, 3))
        #expect(throws: full) { try shares.connect(.user(1)) }
        #expect(overflow.hits.map(\.name) == ["control.connections_per_peer"])
        _ = try shares.connect(.user(2))
        places.removeLast()
        _ = try shares.connect(.user(1))
    }

    @Test("whom the kernel cannot name shares with all such")
    func unknown() throws {
        let shares = shares()
        let places = try (0..<3).map { _ in try shares.connect(.user(nil)) }
        #expect(throws: ControlShares.Full.self) { try shares.connect(.user(nil)) }
        withExtendedLifetime(places) {}
    }

    @Test("the last places are for the owner and root, whoever fills the rest")
    func reserved() throws {
        let shares = shares()
        var places: [ControlShares.Place] = []
        for user in UInt32(1)...10 {
            for _ in 0..<3 {
                if let place = try? shares.connect(.user(user)) { places.append(place) }
            }
        }
        #expect(places.count == 8)
        // The limit stands in the way, not the peer's share, which is still unused.
        let full = ControlShares.Full(limit: .init("control", .connections, 10))
        #expect(throws: full) { try shares.connect(.address("127.0.0.1")) }
        let hits = overflow.hits.first { $0.name == "control.connections" }?.count ?? 0
        var own = [try shares.connect(.user(900)), try shares.connect(.user(0))]
        #expect(overflow.hits.first { $0.name == "control.connections" }?.count == hits)
        // This connection goes beyond the limit, which is counted.
        own.append(try shares.connect(.user(0)))
        #expect(overflow.hits.first { $0.name == "control.connections" }?.count == hits + 1)
        withExtendedLifetime((places, own)) {}
    }

    @Test("where nobody may have streams, nobody is told to end one")
    func noStreams() {
        let shares = ControlShares(
            .init(
                connections: 10, reservedConnections: 2, connectionsOfPeer: 3, streamsOfPeer: 0,
                reservedStreams: 0), owner: 900, overflow: overflow)
        do throws(APIError) {
            _ = try shares.stream(.user(1), isPrivileged: false)
            Issue.record("a stream")
        } catch {
            #expect(error.error.code == .tooMany)
            #expect(
                error.error.message.hasPrefix(
                    "no user may have streams (control.streams_per_peer: 0)"))
        }
    }

    @Test("who is turned away hears which limit stands in the way, and whose it is")
    func refusals() {
        let all = ControlOverflow.Limit("control", .connections, 10).refusal
        #expect(all.hasPrefix("all connections to relayd are taken (control.connections: 10)"))
        let own = ControlOverflow.Limit("dashboard", .connectionsPerPeer, 3).refusal
        #expect(own.hasPrefix("this client has its share of connections to relayd"))
        #expect(own.contains("(dashboard.connections_per_peer: 3); close one of them"))
    }

    @Test("few are told no at the same time, and none of them has a place of the others")
    func turnedAway() throws {
        let shares = shares()
        var told = (0..<ControlShares.maximumTurnedAway).compactMap { _ in shares.turnAway() }
        #expect(told.count == ControlShares.maximumTurnedAway)
        #expect(shares.turnAway() == nil)
        let place = try shares.connect(.user(1))
        told.removeLast()
        #expect(shares.turnAway() != nil)
        withExtendedLifetime(place) {}
    }

    @Test("streams have a share of their own; who may change something gets a little more")
    func streams() throws {
        let shares = shares(reservedStreams: 1)
        let peer = ControlShares.Peer.address("::1")
        var places = [
            try shares.stream(peer, isPrivileged: false),
            try shares.stream(peer, isPrivileged: false),
        ]
        do throws(APIError) {
            _ = try shares.stream(peer, isPrivileged: false)
            Issue.record("a third stream")
        } catch {
            #expect(error.error.code == .tooMany && error.error.message.contains("2 streams"))
            #expect(error.error.message.contains("(control.streams_per_peer)"))
        }
        places.append(try shares.stream(peer, isPrivileged: true))
        #expect(throws: APIError.self) { try shares.stream(peer, isPrivileged: true) }
        places = []
        _ = try shares.stream(peer, isPrivileged: false)
    }
}
