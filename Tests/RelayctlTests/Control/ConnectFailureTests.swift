import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import relayctl

@Suite struct ConnectFailureTests {
    @Test("a port nobody listens on, and a host that is none, are told in words")
    func words() async throws {
        let client = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        try await UnusedPort.run { port in
            let refused = await #expect(throws: (any Error).self) {
                _ = try await client.connect(host: "127.0.0.1", port: port).get()
            }
            #expect(refused.map { "\(ConnectFailure($0))" } == "connection refused")
        }
        let unknown = await #expect(throws: (any Error).self) {
            _ = try await client.connect(host: "no.such.host.invalid", port: 1).get()
        }
        #expect(
            unknown.map { "\(ConnectFailure($0))" } == "there is no host \"no.such.host.invalid\"")
    }
}
