import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AccessoryLinks

@Suite("TCPTransport")
struct TCPTransportTests {
    private let group = MultiThreadedEventLoopGroup.singleton

    /// A listener that keeps the connections it accepts and answers each byte with itself plus one.
    private func listen(
        _ host: String = "127.0.0.1", on reserved: ReservedPort? = nil
    ) async throws -> (channel: any Channel, accepted: Watched<[any Channel]>, port: Int) {
        let accepted = Watched<[any Channel]>([])
        let bootstrap = ServerBootstrap(group: group)
            .childChannelInitializer { child in
                accepted.update { $0.append(child) }
                return child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(PlusOne())
                }
            }
        let channel =
            if let reserved {
                try await bootstrap.withBoundSocket(reserved.takeDescriptor()).get()
            } else {
                try await bootstrap.bind(host: host, port: 0).get()
            }
        return (channel, accepted, try #require(channel.localAddress?.port))
    }

    private final class PlusOne: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let answer = unwrapInboundIn(data).readableBytesView.map { $0 &+ 1 }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
        }
    }

    @Test(
        "the link's handlers see one activation and then the bytes",
        arguments: [
            "127.0.0.1", "localhost", "[::1]",
        ])
    func connects(host: String) async throws {
        // localhost tries both families; only IPv4 listens.
        let server = try await listen(host == "[::1]" ? "::1" : "127.0.0.1")
        let transport = try TransportCatalog.transport(
            for: AccessoryAddress("tcp:\(host):\(server.port)"))
        let probe = LinkProbe()
        let channel = try await transport.open(on: group.next(), configure: probe.setup)
        try await channel.send([1, 2, 3])
        #expect(try await probe.receive(3) == [2, 3, 4])
        #expect(probe.seen.value.configured == 1)
        #expect(probe.seen.value.active == 1)
        try await channel.close()
        try await probe.seen.wait(for: "inactive") { $0.inactive == 1 }
        try await server.channel.close()
    }

    @Test("keepalive is set as sdl_core sets it, unacknowledged bytes may wait 30 s")
    func setsOptions() async throws {
        let server = try await listen()
        let transport = try TransportCatalog.transport(
            for: AccessoryAddress("tcp:127.0.0.1:\(server.port)"))
        let channel = try await transport.open(on: group.next(), configure: LinkProbe().setup)
        func option(_ name: CInt) async throws -> Int {
            try await Int(
                channel.getOption(
                    ChannelOptions.Types.SocketOption(
                        level: .tcp, name: .init(rawValue: name))
                ).get())
        }
        #expect(try await option(TCP_KEEPIDLE) == 3)
        #expect(try await option(TCP_KEEPCNT) == 5)
        #expect(try await option(TCP_KEEPINTVL) == 1)
        #expect(try await option(TCP_USER_TIMEOUT) == 30_000)
        #expect(try await option(TCP_NODELAY) != 0)
        try await channel.close()
        try await server.channel.close()
    }

    @Test("a refused link opens once somebody listens, and again after the peer closed it")
    func reconnects() async throws {
        let reserved = try ReservedPort()
        try await SupervisedLink("tcp:127.0.0.1:\(reserved.port)").run { link in
            let reason = try await link.waitUntilWaiting(.refused)
            #expect(reason.message == "nothing listens on 127.0.0.1:\(reserved.port)")

            let server = try await listen(on: reserved)
            try await link.waitUntilOpen()
            try await server.accepted.wait(for: "a connection") { $0.count == 1 }
            try await server.accepted.value[0].close()
            try await link.waitUntilOpen(times: 2)
            let reasons = link.states.value.compactMap { $0.reason?.code }
            #expect(reasons.last == .closedByPeer)
            try await server.channel.close()
        }
    }

    @Test("a refusal by this machine costs nothing, and a link that ends at once flaps")
    func pace() async throws {
        let reserved = try ReservedPort()
        let transport = try TCPTransport(AccessoryAddress("tcp:127.0.0.1:\(reserved.port)"))
        var refused = LinkProblem(.timedOut, "")
        // On a busy machine the loop may process the timeout before the refusal.
        while refused.code == .timedOut {
            refused = try await #require(throws: LinkProblem.self) {
                try await transport.open(on: group.next(), configure: LinkProbe().setup)
            }
        }
        #expect(refused.code == .refused)
        let paces: [(LinkProblem.Code, ReconnectPolicy.Pace)] = [
            (.timedOut, .quick), (.closedByPeer, .flapped), (.unreachable, .standard),
            (.other, .standard),
        ]
        #expect(transport.pace(after: refused) == .quick)
        for (code, pace) in paces {
            #expect(transport.pace(after: LinkProblem(code, "")) == pace, "\(code)")
        }
        let elsewhere = try TCPTransport(AccessoryAddress("tcp:192.0.2.1:12345"))
        #expect(elsewhere.pace(after: refused) == .standard)
    }

    @Test("the same reason is logged once, however often it is tried")
    func logsOnce() async throws {
        let reserved = try ReservedPort()
        try await SupervisedLink("tcp:127.0.0.1:\(reserved.port)").run { link in
            try await link.states.wait(for: "four attempts") { states in
                if case .waiting(_, _, let attempts) = states.last { attempts >= 4 } else { false }
            }
            #expect(
                link.log.value == [
                    "warning: waiting: nothing listens on 127.0.0.1:\(reserved.port); "
                        + "start sdl_core or the emulator, or correct the port"
                ])
            // The reason stays visible while further attempts run.
            #expect(link.states.value.dropFirst().allSatisfy { $0.reason?.code == .refused })
        }
    }

    @Test("a host name nobody knows is unreachable")
    func unknownHost() async throws {
        // A label of more than 63 bytes cannot be queried, so no name server is involved.
        let host = String(repeating: "x", count: 64)
        let transport = try TransportCatalog.transport(
            for: AccessoryAddress("tcp:\(host):12345"))
        let problem = try await #require(throws: LinkProblem.self) {
            try await transport.open(on: group.next(), configure: LinkProbe().setup)
        }
        #expect(
            problem
                == LinkProblem(
                    .unreachable, "the host name \"\(host)\" is not known",
                    remedy: "check the name, or use the IP address"))
    }

    @Test("a connection of a port to itself is refused before the hub hears of it")
    func selfConnection() async throws {
        let socket = LoopbackSocket.make(blocking: true)
        let port = try #require(LoopbackSocket.bindToFreePort(socket))
        var address = LoopbackSocket.address(port: port)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, LoopbackSocket.addressSize)
            }
        }
        try #require(connected == 0)
        let channel = try await ClientBootstrap(group: group.next())
            .channelOption(.autoRead, value: false)
            .withConnectedSocket(socket).get()
        let probe = LinkProbe()
        await #expect(throws: IOError.self) {
            try await TCPTransport.activate(channel, configure: probe.setup).get()
        }
        #expect(probe.seen.value.configured == 0)
        // The reset may have closed the channel already.
        channel.close(promise: nil)
        try await channel.closeFuture.get()
    }

    @Test("an attempt without an answer is repeated, the first answer counts, no other stays")
    func repeatsUnanswered() async throws {
        let full = try FullListener()
        let made = Watched<[any Channel]>([])
        let loop = group.next()
        let connecting = TCPConnecting(
            { ClientBootstrap(group: loop) }, to: "127.0.0.1", full.port, on: loop,
            until: .now() + .seconds(60),
            onAttempt: { channel in made.update { $0.append(channel) } })
        async let result = connecting.run()
        try await made.wait(for: "a second connection beside the first") { $0.count >= 2 }
        full.empty()
        let channel = try await result.get()
        for other in made.value where other !== channel {
            try await withDeadline("the others' end") { try await other.closeFuture.get() }
        }
        #expect(channel.isActive)
        try await channel.close()
    }

    @Test("addresses of this machine are known as such")
    func ownAddresses() async throws {
        let loop = group.next()
        for (host, isOwn) in [
            ("127.0.0.1", true), ("127.8.9.1", true), ("::1", true), ("::ffff:127.0.0.1", true),
            ("192.0.2.7", false), ("2001:db8::7", false), ("localhost", true),
        ] {
            let lookup = NameLookup(host: host, port: 12345)
            let found = try await lookup.addresses(on: loop).get()
            #expect(!found.isEmpty)
            #expect(lookup.isThisMachine == isOwn, "\(host)")
        }
    }

    @Test("a name is looked up once at a time, however many ask")
    func oneLookup() async throws {
        let loop = group.next()
        // A question to the system, but not to a name server: see `unknownHost`.
        let lookup = NameLookup(host: String(repeating: "x", count: 64), port: 12345)
        let (first, second) = try await loop.submit {
            (lookup.addresses(on: loop), lookup.addresses(on: loop))
        }.get()
        #expect(first === second)
        await #expect(throws: NameLookup.Unknown.self) { try await first.get() }
    }

    @Test("cancelling does not wait for a connection that gets no answer")
    func cancelsConnecting() async throws {
        // A listener whose queue is full drops further SYNs: connecting hangs.
        let full = try FullListener()
        try await SupervisedLink("tcp:127.0.0.1:\(full.port)").run { link in
            try await link.states.wait(for: "opening") { $0 == [.opening] }
        }
    }
}

/// A reserved port that refuses connections until a listener is opened on it.
private final class ReservedPort: Sendable {
    let port: Int
    private let descriptor: Mutex<CInt?>

    init() throws {
        let socket = LoopbackSocket.make(blocking: true)
        port = try #require(LoopbackSocket.bindToFreePort(socket))
        descriptor = Mutex(socket)
    }

    func takeDescriptor() throws -> CInt {
        try #require(descriptor.withLock { $0.take() })
    }

    deinit {
        descriptor.withLock { if let open = $0 { _ = close(open) } }
    }
}

/// A listening socket that never accepts and whose queue is full.
private final class FullListener: Sendable {
    let port: Int
    private let descriptors: [CInt]

    init() throws {
        let listener = LoopbackSocket.make(blocking: false)
        port = try #require(LoopbackSocket.bindToFreePort(listener))
        Glibc.listen(listener, 0)
        var fillers: [CInt] = []
        for _ in 0..<4 {
            let filler = LoopbackSocket.make(blocking: false)
            var address = LoopbackSocket.address(port: port)
            withUnsafePointer(to: &address) { pointer in
                _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(filler, $0, LoopbackSocket.addressSize)
                }
            }
            fillers.append(filler)
        }
        descriptors = [listener] + fillers
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    /// Makes room for further connection attempts.
    func empty() {
        listen(descriptors[0], 64)
        for _ in 0..<8 {
            let taken = accept(descriptors[0], nil, nil)
            if taken >= 0 { close(taken) }
        }
    }
}

/// IPv4 sockets on 127.0.0.1, without NIO.
private enum LoopbackSocket {
    static let addressSize = socklen_t(MemoryLayout<sockaddr_in>.size)

    static func make(blocking: Bool) -> CInt {
        let flags = CInt(SOCK_CLOEXEC.rawValue) | (blocking ? 0 : CInt(SOCK_NONBLOCK.rawValue))
        return socket(AF_INET, CInt(SOCK_STREAM.rawValue) | flags, 0)
    }

    static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        return address
    }

    static func bindToFreePort(_ socket: CInt) -> Int? {
        var address = address(port: 0)
        var size = addressSize
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(socket, generic, size) == 0 && getsockname(socket, generic, &size) == 0
            }
        } ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }
}
