import ControlAPI
import Testing
import relayd

@Suite("Shares of the control API")
struct ControlSharesTests {
    private let crowd = ControlCrowd()

    private func shares(reservedStreams: Int = 0) -> ControlShares {
        ControlShares(
            .init(
                connections: 10, reservedConnections: 2, connectionsOfPeer: 3, streamsOfPeer: 2,
                reservedStreams: reservedStreams), owner: 900, crowd: crowd)
    }

    @Test("a peer has its share of connections, gets it back as they end, and no more")
    func share() throws {
        let shares = shares()
        var places = (0..<3).compactMap { _ in shares.connect(.user(1)) }
        #expect(places.count == 3 && shares.connect(.user(1)) == nil)
        #expect(crowd.hits.map(\.name) == ["control.connections_per_peer"])
        #expect(shares.connect(.user(2)) != nil)
        places.removeLast()
        #expect(shares.connect(.user(1)) != nil)
    }

    @Test("whom the kernel cannot name shares with all such")
    func unknown() {
        let shares = shares()
        let places = (0..<3).compactMap { _ in shares.connect(.user(nil)) }
        #expect(places.count == 3 && shares.connect(.user(nil)) == nil)
    }

    @Test("the last places are for the owner and root, whoever fills the rest")
    func reserved() {
        let shares = shares()
        var places: [ControlShares.Place] = []
        for user in UInt32(1)...10 {
            for _ in 0..<3 { if let place = shares.connect(.user(user)) { places.append(place) } }
        }
        #expect(places.count == 8)
        #expect(shares.connect(.address("127.0.0.1")) == nil)
        let own = [shares.connect(.user(900)), shares.connect(.user(0))].compactMap { $0 }
        #expect(own.count == 2)
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
        }
        places.append(try shares.stream(peer, isPrivileged: true))
        #expect(throws: APIError.self) { try shares.stream(peer, isPrivileged: true) }
        places = []
        _ = try shares.stream(peer, isPrivileged: false)
    }
}
