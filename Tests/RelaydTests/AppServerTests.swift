import ControlAPI
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import Synchronization
import Testing

@testable import relayd

@Suite struct AppServerTests {
    private static func run(_ body: (Relay) async throws -> Void) async throws {
        let relay = try await Relay.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), configuration: RelayConfiguration(),
            accessoryAddress: "sim:", logger: ControlTestServer.quiet)
        try await body(relay)
        await relay.shutDown()
    }

    @Test("switched off, apps leave and none can come; switched on, they find the same port")
    func offAndOn() async throws {
        try await Self.run { relay in
            let states = Mutex<[String]>([])
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: 0)], relay: relay,
                open: { try await AppListener.open($0, for: relay) },
                report: { state in states.withLock { $0.append("\(state)".prefix(6).description) } }
            )
            let port = try #require(try await server.start().first?.port)
            let app = try await FramePeer.connect(port: port)
            while try await relay.snapshot().apps.isEmpty { await Task.yield() }

            #expect(try await server.setActive(true).contains("on already"))
            #expect(
                try await server.setActive(false) == "the server is off; 1 app disconnected")
            try await app.closed()
            await #expect(throws: (any Error).self) { try await FramePeer.connect(port: port) }
            #expect(try await relay.snapshot().departures.map(\.reason) == [.serverOff])
            #expect(try await server.setActive(false) == "the server is off already")

            #expect(try await server.setActive(true).contains("127.0.0.1:\(port)"))
            let again = try await FramePeer.connect(port: port)
            await again.close()
            await server.stop()
            await #expect(throws: APIError.self) { try await server.setActive(true) }
            #expect(states.withLock { $0 } == ["listen", "off", "off", "listen"])
        }
    }

    @Test("a port somebody took meanwhile is told, and tried again when asked")
    func taken() async throws {
        try await Self.run { relay in
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: 0)], relay: relay,
                open: { try await AppListener.open($0, for: relay) }, report: { _ in })
            let addresses = try await server.start()
            _ = try await server.setActive(false)
            let thief = try await AppListener.open(addresses, for: relay)
            let error = await #expect(throws: APIError.self) { try await server.setActive(true) }
            #expect(error?.error.code == .conflict)
            #expect(error?.error.message.contains("another program uses this port") == true)
            await thief.close()
            #expect(try await server.setActive(true).hasPrefix("the server is on"))
            await server.stop()
        }
    }
}
