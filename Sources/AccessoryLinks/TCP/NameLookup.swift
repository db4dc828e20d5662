import Glibc
import HostNames
import NIOCore
import NIOPosix
import Synchronization

/// The addresses of a TCP link's host: at most one lookup at a time, however often the link is tried.
///
/// getaddrinfo(3) may take half a minute when no name server answers, and cannot be cancelled; if each attempt
/// began a lookup of its own, they would queue up behind each other.
final class NameLookup: Sendable {
    private let host: String
    private let port: Int
    /// Addresses that need no lookup.
    private let known: [SocketAddress]?
    private let underWay = Mutex<EventLoopFuture<[SocketAddress]>?>(nil)
    private let latest = Mutex<[SocketAddress]>([])

    struct Unknown: Error {}

    init(host: String, port: Int) {
        self.host = host
        self.port = port
        known = HostName.known(host, port: port)
    }

    /// - Returns: The addresses in the system's order of preference; fails with `Unknown`.
    func addresses(on loop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        if let known {
            latest.withLock { $0 = known }
            return loop.makeSucceededFuture(known)
        }
        return underWay.withLock { underWay in
            if let underWay { return underWay }
            let (host, port) = (host, port)
            let found = HostName.asking(on: loop) { try Self.lookUp(host, port) }
            underWay = found
            found.whenComplete { result in
                self.underWay.withLock { $0 = nil }
                if case .success(let addresses) = result {
                    self.latest.withLock { $0 = addresses }
                }
            }
            return found
        }
    }

    /// Whether all addresses found last are this machine's own: a refusal by them costs some
    /// microseconds.
    var isThisMachine: Bool {
        let addresses = latest.withLock { $0 }
        guard !addresses.isEmpty else { return false }
        if addresses.allSatisfy(\.isLoopback) { return true }
        let own = ((try? System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress }
        return addresses.allSatisfy { address in
            address.isLoopback || address.ipAddress.map { own.contains($0) } == true
        }
    }

    private static func lookUp(_ host: String, _ port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { throw Unknown() }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = SocketAddress(entry) { addresses.append(address) }
            next = entry.ai_next
        }
        guard !addresses.isEmpty else { throw Unknown() }
        return addresses
    }
}

extension SocketAddress {
    fileprivate init?(_ info: addrinfo) {
        guard let address = info.ai_addr else { return nil }
        switch info.ai_family {
        case AF_INET:
            self = .init(
                address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee })
        case AF_INET6:
            self = .init(
                address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee })
        default: return nil
        }
    }

    /// 127.0.0.0/8, also mapped into IPv6, and ::1.
    var isLoopback: Bool {
        guard let text = ipAddress else { return false }
        return text.hasPrefix("127.") || text == "::1" || text.hasPrefix("::ffff:127.")
    }
}

/// Gives NIO the addresses that are already known.
struct KnownAddresses: Resolver, Sendable {
    let addresses: [SocketAddress]
    let loop: any EventLoop

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == .inet })
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == .inet6 })
    }

    func cancelQueries() {}
}
