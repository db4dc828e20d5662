// Accepts apps, on the link's event loop; opened and closed by the daemon.

import Glibc
package import NIOCore
import NIOPosix

/// A TCP address apps can connect to.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    package var host: String
    /// 0 lets the system choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// Why nobody can connect at an address, and what to do about it.
package struct ListenError: Error, CustomStringConvertible {
    package var address: ListenAddress
    package var cause: any Error

    package var description: String {
        guard let error = cause as? IOError else { return "cannot listen on \(address): \(cause)" }
        switch error.errnoCode {
        case EADDRINUSE:
            return """
                cannot listen on \(address): another program uses this port. \
                See which with: ss -ltnp 'sport = :\(address.port)'; \
                or choose another address with --listen HOST:PORT
                """
        case EADDRNOTAVAIL:
            return """
                cannot listen on \(address): this machine has no such address. \
                See which it has with: ip address; or use 127.0.0.1 or 0.0.0.0
                """
        case EACCES:
            return "cannot listen on \(address): ports below 1024 need root; choose a higher one"
        default:
            return "cannot listen on \(address): \(error)"
        }
    }
}

/// The sockets apps connect to.
package struct AppListener: Sendable {
    private let channels: [any Channel]
    /// Whether the sockets are relayd's alone, and not systemd's as well.
    private let isOwn: Bool

    /// Opens every address, or none.
    ///
    /// - Parameters:
    ///   - places: The addresses as `HostLookup` found them; nil looks them up here.
    ///   - others: Addresses that other listeners have, or will have.
    ///   - entrance: What connections made there are said to have come in by; the address by default.
    /// - Throws: `ListenError` for the first address that cannot be opened.
    package static func open(
        _ addresses: [ListenAddress], at places: [SocketAddress]? = nil,
        beside others: [ListenAddress] = [], entrance: String? = nil, for relay: Relay
    ) async throws -> Self {
        var found = places ?? []
        if places == nil { found = try await HostLookup.addresses(of: addresses, on: relay.loop) }
        var channels: [any Channel] = []
        for (address, place) in zip(addresses, found) {
            let bootstrap = bootstrap(
                for: relay, isOwn: true, entrance: entrance ?? address.description)
            do {
                // Where IPv4 has a socket of its own on the same port, the IPv6 socket must not claim it too.
                let onlyIPv6: CInt = address.sharesPort(with: addresses + others) ? 1 : 0
                let bootstrap =
                    address.host == "::"
                    ? bootstrap.serverChannelOption(ipv6(IPV6_V6ONLY), value: Int(onlyIPv6))
                    : bootstrap
                channels.append(try await bootstrap.bind(to: place).get())
            } catch {
                for channel in channels { await channel.closeListener() }
                throw ListenError(address: address, cause: error)
            }
        }
        return Self(channels: channels, isOwn: true)
    }

    /// Takes over sockets that are listening already, and their descriptors.
    package static func adopt(_ descriptors: [CInt], for relay: Relay) async throws -> Self {
        let bootstrap = bootstrap(for: relay, isOwn: false)
        var channels: [any Channel] = []
        for descriptor in descriptors {
            channels.append(try await bootstrap.withBoundSocket(descriptor).get())
            // NIO has set its own backlog of 128; the bootstrap's counts for `bind` only.
            _ = listen(descriptor, backlog)
        }
        return Self(channels: channels, isOwn: false)
    }

    /// - Parameter isOwn: Whether the sockets begin to listen with these options, so that connections inherit
    ///   them. On sockets that listened before, connections may be waiting that were made without them.
    static func bootstrap(
        for relay: Relay, isOwn: Bool, entrance: String = ""
    ) -> ServerBootstrap {
        let bootstrap = ServerBootstrap(group: relay.loop, childGroup: relay.loop)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.maxMessagesPerRead, value: acceptsInRow)
            .serverChannelInitializer { relay.configureListener($0) }
            .childChannelOption(.writeBufferWaterMark, value: appWaterMark)
            .childChannelOption(.recvAllocator, value: ReadBuffer.allocator)
            .childChannelOption(.maxMessagesPerRead, value: ReadBuffer.readsInRow)
            .childChannelInitializer { relay.configureApp($0, at: entrance) }
        return connectionOptions.reduce(bootstrap) { bootstrap, option in
            isOwn
                ? bootstrap.serverChannelOption(option.name, value: option.value)
                : bootstrap.childChannelOption(option.name, value: option.value)
        }
    }

    /// One in each turn of the loop: connected apps are served between arriving ones, and of a thousand that
    /// arrive at once the first do not wait until the last is accepted.
    private static let acceptsInRow: UInt = 1
    /// Connections the kernel may hold until they are accepted: a whole bench may reconnect at once
    /// after the link was lost. The kernel takes net.core.somaxconn where that is less.
    private static let backlog: Int32 = 4096
    /// Above the high mark an app counts as not reading, and the link waits for it for a moment.
    private static let appWaterMark = ChannelOptions.Types.WriteBufferWaterMark(
        low: 256 << 10, high: 1 << 20)

    // An app whose machine loses power or network sends no FIN, and its session would stay on the head unit.
    // The keepalive numbers are sdl_core's own. `TCPTransport` in AccessoryLinks repeats them for the other
    // side: no module that both import deals with sockets.

    /// The socket options of every app's connection.
    private static let connectionOptions:
        [(name: ChannelOptions.Types.SocketOption, value: ChannelOptions.Types.SocketOption.Value)] =
            [
                (tcp(TCP_NODELAY), 1),
                (.init(level: .socket, name: .so_keepalive), 1),
                // Seconds of silence before the first keepalive probe.
                (tcp(TCP_KEEPIDLE), 3),
                // Unanswered probes before the connection counts as dead.
                (tcp(TCP_KEEPCNT), 5),
                // Seconds between probes.
                (tcp(TCP_KEEPINTVL), 1),
                // Milliseconds that sent bytes may stay unacknowledged. A minute, because the kernel also
                // counts the closed window of an app at a breakpoint.
                (tcp(TCP_USER_TIMEOUT), 60_000),
            ]

    private static func ipv6(_ name: CInt) -> ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .ipv6, name: .init(rawValue: name))
    }

    private static func tcp(_ name: CInt) -> ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: name))
    }

    /// The addresses the sockets are bound to, with the ports the system chose.
    package var addresses: [ListenAddress] {
        channels.compactMap(\.localAddress).compactMap { address in
            guard let host = address.ipAddress, let port = address.port else { return nil }
            return ListenAddress(host: host + (address.zone.map { "%\($0)" } ?? ""), port: port)
        }
    }

    package func close() async {
        for channel in channels {
            if isOwn { await channel.closeListener() } else { try? await channel.close() }
        }
    }
}

extension ListenAddress {
    /// Whether one of `others` listens to IPv4 on this port.
    package func sharesPort(with others: [ListenAddress]) -> Bool {
        port != 0 && others.contains { $0.port == port && !$0.host.contains(":") }
    }
}

extension SocketAddress {
    /// The interface that a link-local IPv6 address belongs to, such as "eth0".
    fileprivate var zone: String? {
        // sin6_scope_id, the last member of sockaddr_in6 (ipv6(7)).
        let (offset, size) = (24, 28)
        let index = withSockAddr { address, length in
            self.protocol == .inet6 && length >= size
                ? UnsafeRawPointer(address).loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                : 0
        }
        guard index != 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { name in
            guard let base = name.baseAddress, if_indextoname(index, base) != nil else {
                return nil
            }
            return String(cString: base)
        }
    }
}
