import Dispatch
import NIOCore
import NIOPosix
import RelayCore
import Testing

// Which addresses are suggested to apps, and in which order.

@Suite("ReachableAddresses")
struct ReachableAddressesTests {
    /// A bench with Wi-Fi, containers and a bridge's port; loopback first, as getifaddrs has it.
    private static let bench = ReachableAddresses(
        [
            .init("lo", "127.0.0.1"), .init("lo", "::1"), .init("docker0", "172.17.0.1"),
            .init("wlan0", "192.168.1.20"), .init("wlan0", "2001:db8::7"),
            .init("wlan0", "fe80::aaaa"), .init("veth1", "fe80::bbbb"),
            .init("usb0", "169.254.3.4"),
        ], preferred: "192.168.1.20")

    private func of(_ addresses: ListenAddress...) -> [String] {
        Self.bench.of(addresses).map(\.description)
    }

    @Test("every IPv4 address for 0.0.0.0: what a phone can use comes first, loopback last")
    func ipv4() {
        #expect(
            of(.init(host: "0.0.0.0", port: 2776)) == [
                "192.168.1.20:2776", "172.17.0.1:2776", "169.254.3.4:2776", "127.0.0.1:2776",
            ])
    }

    @Test("[::] takes IPv4 as well, and a link-local address stands with its interface")
    func both() {
        #expect(
            of(.init(host: "::", port: 1)) == [
                "192.168.1.20:1", "172.17.0.1:1", "[2001:db8::7]:1", "169.254.3.4:1",
                "[fe80::aaaa%wlan0]:1", "127.0.0.1:1", "[::1]:1",
            ])
    }

    @Test("with a socket of its own for IPv4 no address is told twice")
    func apart() {
        let both = of(.init(host: "::", port: 1), .init(host: "0.0.0.0", port: 1))
        #expect(both.count == Set(both).count && both.count == 7)
        let loopback = of(.init(host: "::", port: 1), .init(host: "127.0.0.1", port: 1))
        #expect(
            loopback == [
                "[2001:db8::7]:1", "[fe80::aaaa%wlan0]:1", "127.0.0.1:1", "[::1]:1",
            ])
    }

    @Test("addresses that are named keep their order, but for loopback")
    func named() {
        #expect(
            of(.init(host: "127.0.0.1", port: 1), .init(host: "10.0.0.9", port: 2))
                == ["10.0.0.9:2", "127.0.0.1:1"])
    }

    @Test("a machine without addresses is told as it was asked for")
    func none() {
        let address = ListenAddress(host: "0.0.0.0", port: 2776)
        #expect(ReachableAddresses([]).of([address]) == [address])
    }

    @Test("this machine: a wildcard becomes addresses that can be typed, 127.0.0.1 behind others")
    func thisMachine() {
        let found = ReachableAddresses.ofThisMachine.of([.init(host: "0.0.0.0", port: 2776)])
        #expect(found.contains(ListenAddress(host: "127.0.0.1", port: 2776)))
        #expect(!found.contains { $0.host == "0.0.0.0" })
        #expect(found.last?.host.hasPrefix("127.") == true)
    }
}

@Suite("HostLookup")
struct HostLookupTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("an address is taken as it is, and localhost is this machine, without asking anybody")
    func literal() async throws {
        for (host, address) in [
            ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1"),
        ] {
            let found = try await HostLookup.address(
                of: .init(host: host, port: 7), on: loop, resolve: { _ in throw Unexpected() })
            #expect(found.ipAddress == address && found.port == 7)
        }
    }

    @Test("a name is looked up on a thread that may block, which no event loop is")
    func name() async throws {
        let loop = loop
        let found = try await HostLookup.address(
            of: .init(host: "bench.local", port: 7), on: loop, within: .minutes(1)
        ) {
            #expect(!loop.inEventLoop)
            return try SocketAddress(ipAddress: "127.0.0.1", port: $0.port)
        }
        #expect(found.port == 7)
    }

    @Test("a name server that does not answer is not waited for without end")
    func silent() async throws {
        let (answer, answered) = AsyncStream<Void>.makeStream()
        let promise = loop.makePromise(of: Void.self)
        await #expect(throws: HostLookup.TimedOut.self) {
            try await HostLookup.address(
                of: .init(host: "bench.local", port: 7), on: loop, within: .milliseconds(20)
            ) { _ in
                try promise.futureResult.wait()
                answered.yield()
                throw Unexpected()
            }
        }
        // An answer that comes too late changes nothing.
        promise.succeed()
        for await _ in answer { break }
    }

    @Test("several names are asked for at the same time", .timeLimit(.minutes(15)))
    func atOnce() async throws {
        // Each lookup waits until the other has been asked for.
        let asked = DispatchGroup()
        for _ in 1...2 { asked.enter() }
        let places = ["left.local", "127.0.0.1", "right.local"].map {
            ListenAddress(host: $0, port: 7)
        }
        let found = try await HostLookup.addresses(of: places, on: loop, within: .minutes(1)) {
            asked.leave()
            asked.wait()
            let last = $0.host == "left.local" ? 2 : 3
            return try SocketAddress(ipAddress: "127.0.0.\(last)", port: $0.port)
        }
        #expect(found.map(\.ipAddress) == ["127.0.0.2", "127.0.0.1", "127.0.0.3"])
    }

    @Test("the first name that nobody knows is told") func unknown() async throws {
        let places = ["127.0.0.1", "a.local", "b.local"].map { ListenAddress(host: $0, port: 7) }
        let error = await #expect(throws: ListenError.self) {
            try await HostLookup.addresses(of: places, on: loop, within: .minutes(1)) { _ in
                throw Unexpected()
            }
        }
        #expect(error?.address.host == "a.local" && error?.cause is Unexpected)
    }

    private struct Unexpected: Error {}
}
