import AccessoryLinks
import ControlAPI
import Dispatch
import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import Synchronization
import Testing

@testable import relayd

@Suite struct AppServerTests {
    /// Runs `body` with a relay, and a port that can be closed and opened again.
    private static func run(_ body: (Relay, Int) async throws -> Void) async throws {
        let relay = try await Relay.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), configuration: RelayConfiguration(),
            accessoryAddress: "sim:", logger: ControlTestServer.quiet)
        // The port is closed and opened again.
        try await UnusedPort.run { port in try await body(relay, port) }
        await relay.shutDown()
    }

    @Test("switched off, apps leave and none can come; switched on, they find the same port")
    func offAndOn() async throws {
        try await Self.run { relay, port in
            let states = Mutex<[String]>([])
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: port)], relay: relay,
                report: { state in states.withLock { $0.append("\(state)".prefix(6).description) } }
            )
            _ = try await server.start()
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
            #expect(states.withLock { $0 } == ["listen", "off", "listen"])
        }
    }

    @Test("a port somebody took meanwhile is told, and tried again when asked")
    func taken() async throws {
        try await Self.run { relay, port in
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: port)], relay: relay,
                report: { _ in })
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

    @Test("addresses changed while it is off are opened when it is switched on")
    func changedWhileOff() async throws {
        try await Self.run { relay, port in
            let first = ListenAddress(host: "127.0.0.1", port: 0)
            let server = AppServer([first], relay: relay, report: { _ in })
            let old = try #require(try await server.start().first)
            _ = try await server.setActive(false)
            let second = ListenAddress(host: "127.0.0.1", port: port)
            try await server.change(to: [second])
            await #expect(throws: (any Error).self) { try await FramePeer.connect(port: port) }
            #expect(try await server.setActive(true).contains("\(second)"))
            await #expect(throws: (any Error).self) { try await FramePeer.connect(port: old.port) }
            try await FramePeer.connect(port: port).close()
            await server.stop()
        }
    }

    @Test("what cannot be opened is refused, and what was open stays open")
    func refused() async throws {
        try await Self.run { relay, port in
            let here = ListenAddress(host: "127.0.0.1", port: port)
            let server = AppServer([here], relay: relay, report: { _ in })
            _ = try await server.start()
            // No host has the address 192.0.2.1.
            await #expect(throws: ListenError.self) {
                try await server.change(to: [ListenAddress(host: "192.0.2.1", port: port)])
            }
            let app = try await FramePeer.connect(port: port)
            while try await relay.snapshot().apps.isEmpty { await Task.yield() }
            // All addresses instead of one: the connected app stays.
            try await server.change(to: [ListenAddress(host: "0.0.0.0", port: port)])
            try await FramePeer.connect(port: port).close()
            #expect(try await relay.snapshot().apps.contains { $0.id == AppID(rawValue: 1) })
            await app.close()
            await server.stop()
        }
    }

    @Test("where a serial port for clients cannot be made, the old address is open again")
    func refusedTerminal() async throws {
        try await Self.run { relay, port in
            let logger = ControlTestServer.quiet
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: port)], relay: relay,
                terminals: TerminalServer([], relay: relay, logger: logger), report: { _ in })
            _ = try await server.start()
            await #expect(throws: TerminalProblem.self) {
                try await server.change(
                    to: [ListenAddress(host: "127.0.0.1", port: 0)],
                    terminals: [TerminalPlace(path: "/nowhere/tty", group: nil)])
            }
            try await FramePeer.connect(port: port).close()
            await server.stop()
        }
    }

    @Test("switched on where a serial port cannot be made, nothing is open, until that is changed")
    func activationRefused() async throws {
        try await Self.run { relay, port in
            let logger = ControlTestServer.quiet
            let here = ListenAddress(host: "127.0.0.1", port: port)
            let server = AppServer(
                [here], relay: relay,
                terminals: TerminalServer([], relay: relay, logger: logger), report: { _ in })
            _ = try await server.start()
            _ = try await server.setActive(false)
            try await server.change(
                to: [here], terminals: [TerminalPlace(path: "/nowhere/tty", group: nil)])
            for _ in 1...2 {
                await #expect(throws: APIError.self) { try await server.setActive(true) }
                await #expect(throws: (any Error).self) { try await FramePeer.connect(port: port) }
            }
            try await server.change(to: [here], terminals: [])
            try await FramePeer.connect(port: port).close()
            await server.stop()
        }
    }

    @Test(
        "names are looked up all at once, and before anything is closed", .timeLimit(.minutes(15)))
    func names() async throws {
        try await Self.run { relay, port in
            let here = ListenAddress(host: "127.0.0.1", port: port)
            // Each lookup waits until the other has been asked for; the server is open meanwhile.
            let asked = DispatchGroup()
            for _ in 1...2 { asked.enter() }
            let counts = Mutex<[String: Int]>([:])
            let server = AppServer(
                [here], relay: relay,
                resolve: { place in
                    let count = counts.withLock { counts in
                        counts[place.host, default: 0] += 1
                        return counts[place.host, default: 0]
                    }
                    // Each name is looked up once, even where its port has to be closed first.
                    guard count == 1 else { throw IOError(errnoCode: EIO, reason: "asked again") }
                    asked.leave()
                    asked.wait()
                    let host = place.host == "all.local" ? "0.0.0.0" : "127.0.0.1"
                    return try SocketAddress(ipAddress: host, port: place.port)
                }, report: { _ in })
            _ = try await server.start()
            try await server.change(to: [
                ListenAddress(host: "all.local", port: port),
                ListenAddress(host: "here.local", port: 0),
            ])
            #expect(counts.withLock { $0 } == ["all.local": 1, "here.local": 1])
            try await FramePeer.connect(port: port).close()
            await server.stop()
        }
    }

    @Test("a port that the server has closed is free, also while a copy of its descriptor is open")
    func heldDescriptor() async throws {
        try await Self.run { relay, port in
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: port)], relay: relay, report: { _ in })
            _ = try await server.start()
            // As a program has one between fork and exec, and ss -p for a moment.
            let copy = try #require(Self.copyOfListener(on: port))
            defer { close(copy) }
            try await server.change(to: [ListenAddress(host: "0.0.0.0", port: port)])
            try await FramePeer.connect(port: port).close()
            await server.stop()
        }
    }

    /// A copy of this process's descriptor of the socket that listens on the port.
    private static func copyOfListener(on port: Int) -> CInt? {
        let found = (0..<CInt(1 << 16)).first { descriptor in
            var isListening: CInt = 0
            var size = socklen_t(MemoryLayout<CInt>.size)
            guard
                getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0,
                isListening == 1
            else { return false }
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(descriptor, $0, &length) == 0
                }
            }
            return isNamed && address.sin_family == sa_family_t(AF_INET)
                && Int(UInt16(bigEndian: address.sin_port)) == port
        }
        return found.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
    }

    @Test("a name that nobody knows closes nothing, not even where its port is another's")
    func unknownName() async throws {
        try await Self.run { relay, port in
            let conditions = Mutex<[String]>([])
            let questions = Mutex(0)
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: port)], relay: relay,
                resolve: { _ in
                    questions.withLock { $0 += 1 }
                    throw IOError(errnoCode: EIO, reason: "no name server")
                },
                report: { state in
                    conditions.withLock { $0.append("\(state)".prefix(6).description) }
                })
            _ = try await server.start()
            let app = try await FramePeer.connect(port: port)
            let error = await #expect(throws: ListenError.self) {
                try await server.change(to: [ListenAddress(host: "bench.local", port: port)])
            }
            #expect(error?.address.host == "bench.local")
            #expect(conditions.withLock { $0 } == ["listen"])
            #expect(questions.withLock { $0 } == 1)
            try await FramePeer.connect(port: port).close()
            await app.close()
            await server.stop()
        }
    }

    @Test(
        "a socket for IPv6 gives up IPv4 when that gets a socket of its own, and takes it back",
        .enabled(if: Self.hasIPv6, "this machine has no IPv6"))
    func dualStack() async throws {
        try await Self.run { relay, port in
            let six = ListenAddress(host: "::", port: port)
            let four = ListenAddress(host: "127.0.0.1", port: port)
            let server = AppServer([six], relay: relay, report: { _ in })
            _ = try await server.start()
            for addresses in [[six, four], [six], [four, six], [six]] {
                try await server.change(to: addresses)
                try await FramePeer.connect(port: port).close()
            }
            await server.stop()
        }
    }

    private static var hasIPv6: Bool {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0
    }

    @Test("systemd's sockets are served, cannot be switched off, and are not exchanged")
    func inherited() async throws {
        try await Self.run { relay, _ in
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try #require(descriptor >= 0 && listen(descriptor, 8) == 0)
            let server = AppServer(
                [ListenAddress(host: "127.0.0.1", port: 1)], descriptors: [descriptor],
                relay: relay, report: { _ in })
            let port = try #require(try await server.start().first?.port)
            try await server.change(to: [ListenAddress(host: "127.0.0.1", port: 1)])
            let error = await #expect(throws: APIError.self) { try await server.setActive(false) }
            #expect(error?.error.message.contains("systemctl stop relayd.socket") == true)
            #expect(try await server.setActive(true).contains("on already"))
            try await FramePeer.connect(port: port).close()
            await server.stop()
        }
    }

    @Test("systemd's sockets go on listening when relayd stops, and serve the one that comes next")
    func inheritedGoOn() async throws {
        try await Self.run { relay, _ in
            let systemds = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try #require(systemds >= 0 && listen(systemds, 8) == 0)
            defer { close(systemds) }
            for _ in 1...2 {
                let server = AppServer(
                    [ListenAddress(host: "127.0.0.1", port: 1)],
                    descriptors: [fcntl(systemds, F_DUPFD_CLOEXEC, 0)], relay: relay,
                    report: { _ in })
                let port = try #require(try await server.start().first?.port)
                try await FramePeer.connect(port: port).close()
                await server.stop()
                try await FramePeer.connect(port: port).close()
            }
        }
    }
}
