import Glibc
package import NIOCore
import NIOPosix

/// sdl_core or another emulator on the network: `tcp:192.168.0.5:12345`.
package struct TCPTransport: AccessoryTransport {
    package static let scheme = "tcp"
    package static let usage = "tcp:192.168.0.5:12345"
    package static let summary = "sdl_core or another emulator that listens on TCP"

    /// Longer than any healthy network needs, short enough to try again soon. Covers the name
    /// lookup as well.
    static let connectTimeout: TimeAmount = .seconds(5)

    /// How long a connection may stay unanswered before another is begun beside it, so that a head unit that comes
    /// back is tried within a second. An absent one thus gets 67 SYNs a minute, plus the kernel's repetitions.
    static let repeatInterval: TimeAmount = .milliseconds(900)

    // A peer that loses power sends no FIN. The keepalive numbers are sdl_core's own, so that both
    // ends give up at about the same time.

    /// Seconds of silence before the first keepalive probe.
    static let keepaliveIdleSeconds: ChannelOptions.Types.SocketOption.Value = 3
    /// Unanswered probes before the connection counts as dead.
    static let keepaliveCount: ChannelOptions.Types.SocketOption.Value = 5
    /// Seconds between probes.
    static let keepaliveIntervalSeconds: ChannelOptions.Types.SocketOption.Value = 1
    /// Milliseconds that sent bytes may stay unacknowledged; keepalive does not run meanwhile. The
    /// kernel counts a closed window too, so sdl_core's own 7 s would cut off a head unit that
    /// stands at a breakpoint.
    static let userTimeoutMilliseconds: ChannelOptions.Types.SocketOption.Value = 30_000

    /// Bytes that the kernel takes beyond those on the network. The default is megabytes, and an urgent frame would
    /// have to wait for them when the head unit reads slowly; this limit keeps a gigabyte per second flowing while
    /// relayd needs 0.1 ms to write more.
    static let unsentLimit: ChannelOptions.Types.SocketOption.Value = 256 << 10

    package let host: String
    package let port: Int
    private let lookup: NameLookup

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: [])
        (host, port) = try Self.parseHostAndPort(address)
        lookup = NameLookup(host: host, port: port)
    }

    package var deviceNode: String? { nil }

    /// Only the connected channel is given to `configure`, never one of the attempts that a name with several
    /// addresses takes; its handlers are told of the channel's activation afterwards.
    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let deadline = NIODeadline.now() + Self.connectTimeout
        let addresses = try await addresses(on: loop)
        let connected = await TCPConnecting(
            { Self.bootstrap(on: loop, addresses) }, to: host, port, on: loop, until: deadline
        ).run()
        switch connected {
        case .failure(let error): throw problem(error)
        case .success(let channel):
            let ready = await Self.activate(channel, configure: configure).outcome()
            guard case .failure(let error) = ready else { return channel }
            channel.close(promise: nil)
            throw (error as? LinkProblem) ?? problem(error)
        }
    }

    private static func bootstrap(
        on loop: any EventLoop, _ addresses: [SocketAddress]
    ) -> ClientBootstrap {
        ClientBootstrap(group: loop)
            .resolver(KnownAddresses(addresses: addresses, loop: loop))
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(tcp(TCP_KEEPIDLE), value: keepaliveIdleSeconds)
            .channelOption(tcp(TCP_KEEPCNT), value: keepaliveCount)
            .channelOption(tcp(TCP_KEEPINTVL), value: keepaliveIntervalSeconds)
            .channelOption(tcp(TCP_USER_TIMEOUT), value: userTimeoutMilliseconds)
            .channelOption(tcp(TCP_NOTSENT_LOWAT), value: unsentLimit)
    }

    package func pace(after problem: LinkProblem) -> ReconnectPolicy.Pace {
        switch problem.code {
        case .refused: lookup.isThisMachine ? .quick : .standard
        // The attempt itself took long enough.
        case .timedOut: .quick
        case .closedByPeer: .flapped
        default: .standard
        }
    }

    /// The host's addresses, or why there are none.
    private func addresses(
        on loop: any EventLoop
    ) async throws(LinkProblem) -> [SocketAddress] {
        let found = loop.makePromise(of: [SocketAddress].self)
        lookup.addresses(on: loop).cascade(to: found)
        let timeout = loop.scheduleTask(in: Self.connectTimeout) {
            found.fail(ChannelError.connectTimeout(Self.connectTimeout))
        }
        let result = await withTaskCancellationHandler {
            await found.futureResult.outcome()
        } onCancel: {
            found.fail(CancellationError())
        }
        timeout.cancel()
        switch result {
        case .success(let addresses): return addresses
        case .failure(ChannelError.connectTimeout):
            throw LinkProblem(
                .unreachable, "no name server has answered for the host name \"\(host)\"",
                remedy: "check the network, or use the IP address")
        case .failure(let error): throw problem(error)
        }
    }

    /// Adds the handlers to an active channel, tells them that it is active, and starts reading.
    static func activate(
        _ channel: any Channel, configure: @escaping ChannelSetup
    ) -> EventLoopFuture<Void> {
        // flatSubmit takes another turn of the loop, so NIO's own announcement is surely over.
        channel.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
            // A free port on our own machine can connect to itself while we try again and again.
            // That is no link, and the hub must not hear of it.
            guard channel.localAddress != channel.remoteAddress else {
                return channel.eventLoop.makeFailedFuture(
                    IOError(errnoCode: ECONNREFUSED, reason: "connected to itself"))
            }
            return configure(channel)
        }
        .flatMapThrowing {
            guard channel.isActive else {
                throw LinkProblem(.closedByPeer, "the peer closed the connection at once")
            }
            channel.pipeline.fireChannelActive()
        }
        .flatMap { channel.setOption(.autoRead, value: true) }
    }

    private static func tcp(_ option: CInt) -> ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: option))
    }
}

// MARK: - Address

extension TCPTransport {
    private static func parseHostAndPort(
        _ address: AccessoryAddress
    ) throws(AddressError) -> (host: String, port: Int) {
        var path = address.path[...]
        if path.hasPrefix("//") {
            throw AddressError(
                "\"\(address)\" has slashes; did you mean \"tcp:\(path.drop { $0 == "/" })\"?")
        }
        let host: Substring
        if path.hasPrefix("[") {
            guard let end = path.firstIndex(of: "]") else {
                throw AddressError("\"\(address)\" opens a bracket without closing it")
            }
            host = path[path.index(after: path.startIndex)..<end]
            path = path[path.index(after: end)...]
        } else {
            host = path.prefix { $0 != ":" }
            path = path.dropFirst(host.count)
            if path.dropFirst().contains(":") {
                throw AddressError(
                    "\"\(address)\" looks like an IPv6 address without brackets; "
                        + "expected tcp:[ADDRESS]:PORT, for example \"tcp:[::1]:12345\"")
            }
        }
        guard !host.isEmpty else {
            throw AddressError(
                "\"\(address)\" names no host; expected tcp:HOST:PORT, "
                    + "for example \"tcp:127.0.0.1:12345\"")
        }
        guard path.hasPrefix(":"), path.count > 1 else {
            throw AddressError(
                "\"\(address)\" has no port; expected tcp:HOST:PORT "
                    + "(sdl_core listens on 12345)")
        }
        guard let port = UInt16(path.dropFirst()), port > 0 else {
            throw AddressError(
                "port \"\(path.dropFirst())\" in \"\(address)\" is not a number "
                    + "from 1 to 65535")
        }
        return (String(host), Int(port))
    }

    /// The host and port as a person would type them.
    private var endpoint: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

// MARK: - Problems

extension TCPTransport {
    private func problem(_ error: any Error) -> LinkProblem {
        switch error {
        case let error as NIOConnectionError:
            // One failure per address that was tried; the first is the preferred address.
            if let attempt = error.connectionErrors.first { return problem(attempt.error) }
            return unknownName()
        case is NameLookup.Unknown:
            return unknownName()
        case let error as IOError:
            return problem(errno: error.errnoCode)
        case ChannelError.connectTimeout:
            return timedOut()
        case is CancellationError:
            return LinkProblem(.closedHere, "relayd stopped connecting to \(endpoint)")
        default:
            return LinkProblem(.other, "connecting to \(endpoint) failed: \(error)")
        }
    }

    private func problem(errno error: CInt) -> LinkProblem {
        switch error {
        case ECONNREFUSED:
            return LinkProblem(
                .refused, "nothing listens on \(endpoint)",
                remedy: "start sdl_core or the emulator, or correct the port")
        case ECONNRESET:
            return LinkProblem(.closedByPeer, "\(endpoint) reset the connection")
        case ETIMEDOUT:
            return timedOut()
        case EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL:
            return LinkProblem(
                .unreachable, "there is no route to \(endpoint): \(systemMessage(error))",
                remedy: "check the network and the address")
        default:
            return .system("connecting to \(endpoint) failed", errno: error)
        }
    }

    private func unknownName() -> LinkProblem {
        LinkProblem(
            .unreachable, "the host name \"\(host)\" is not known",
            remedy: "check the name, or use the IP address")
    }

    private func timedOut() -> LinkProblem {
        LinkProblem(
            .timedOut,
            "\(endpoint) did not answer within \(Self.connectTimeout.nanoseconds / 1_000_000_000) s",
            remedy: "check the address, and that no firewall drops the connection")
    }
}
