import Glibc
import NIOCore

/// Where apps can connect, in the order in which to suggest it. Asked by the daemon for its status and its
/// first log line.
package struct ReachableAddresses: Sendable {
    /// An address of an interface, such as "eth0" and "192.168.1.20".
    package struct Interface: Hashable, Sendable {
        package var name: String
        package var ip: String

        package init(_ name: String, _ ip: String) {
            self.name = name
            self.ip = ip
        }
    }

    private let interfaces: [Interface]
    /// The source address of traffic to other networks.
    private let preferred: String?

    package init(_ interfaces: [Interface], preferred: String? = nil) {
        self.interfaces = interfaces
        self.preferred = preferred
    }

    /// The addresses that this machine has now.
    package static var ofThisMachine: ReachableAddresses {
        let devices = (try? System.enumerateDevices()) ?? []
        return ReachableAddresses(
            devices.compactMap { device in
                device.address?.ipAddress.map { Interface(device.name, $0) }
            }, preferred: sourceOfDefaultRoute())
    }

    /// Every address:port an app can use: a wildcard stands for each of the machine's addresses.
    ///
    /// First come addresses that a phone can use: the address of the default route, then other IPv4, then
    /// IPv6; last come those that only this machine can use.
    package func of(_ addresses: [ListenAddress]) -> [ListenAddress] {
        var found: [ListenAddress] = []
        for address in addresses.flatMap({ expanded($0, among: addresses) })
        where !found.contains(address) {
            found.append(address)
        }
        return found.enumerated().sorted { a, b in
            (rank(a.element.host), a.offset) < (rank(b.element.host), b.offset)
        }.map(\.element)
    }

    private func expanded(
        _ address: ListenAddress, among all: [ListenAddress]
    ) -> [ListenAddress] {
        let hosts: [String]
        switch address.host {
        case "0.0.0.0": hosts = ipv4
        // One socket for both, unless IPv4 has its own on the same port.
        case "::": hosts = address.sharesPort(with: all) ? ipv6 : ipv4 + ipv6
        default: return [address]
        }
        guard !hosts.isEmpty else { return [address] }
        return hosts.map { ListenAddress(host: $0, port: address.port) }
    }

    private var ipv4: [String] { interfaces.map(\.ip).filter { !$0.contains(":") } }

    /// A link-local address is useful only with its interface, and left out for an interface that has no
    /// other: the ports of bridges, of which there may be dozens.
    private var ipv6: [String] {
        interfaces.filter { $0.ip.contains(":") }.compactMap { interface in
            guard Self.isLinkLocal(interface.ip) else { return interface.ip }
            let hasOther = interfaces.contains {
                $0.name == interface.name && !Self.isLinkLocal($0.ip)
            }
            return hasOther ? "\(interface.ip)%\(interface.name)" : nil
        }
    }

    private static func isLinkLocal(_ host: String) -> Bool { host.hasPrefix("fe80:") }

    private func rank(_ host: String) -> Int {
        if host == preferred { return 0 }
        if host == "::1" { return 6 }
        if host.hasPrefix("127.") { return 5 }
        if Self.isLinkLocal(host) { return 4 }
        if host.hasPrefix("169.254.") { return 3 }
        return host.contains(":") ? 2 : 1
    }

    /// The kernel chooses a source address when a UDP socket is connected; nothing is sent.
    private static func sourceOfDefaultRoute() -> String? {
        // TEST-NET-1 of RFC 5737: an address that no interface has.
        guard let elsewhere = try? SocketAddress(ipAddress: "192.0.2.1", port: 9) else {
            return nil
        }
        let kind = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(AF_INET, CInt(kind), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard elsewhere.withSockAddr({ connect(descriptor, $0, socklen_t($1)) }) == 0 else {
            return nil
        }
        // sockaddr_in of ip(7): family, port, four bytes of address.
        var length = socklen_t(16)
        return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { own in
            guard let base = own.baseAddress,
                getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            return own[4..<8].map { "\($0)" }.joined(separator: ".")
        }
    }
}
