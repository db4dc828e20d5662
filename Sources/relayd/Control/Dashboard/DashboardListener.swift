import Glibc
import Logging
package import NIOCore
package import RelayCore
import Synchronization

/// The dashboard's TCP port, bound before relayd is ready, so that the first request finds it.
/// Created by `DashboardEndpoint`; `ControlServer` accepts on it.
package final class DashboardListener: Sendable {
    /// The actual address, with the port the system chose.
    package let address: ListenAddress
    private let descriptor: Mutex<Int32?>

    /// - Parameter place: The address of the host; nil if unknown.
    /// - Throws: `DashboardListenerError`, written for people.
    package init(
        _ wanted: ListenAddress, at place: SocketAddress?
    ) throws(DashboardListenerError) {
        guard let place else { throw DashboardListenerError(address: wanted, errno: nil) }
        let descriptor: Int32
        do throws(IOError) {
            descriptor = try Self.bound(to: place)
        } catch {
            throw DashboardListenerError(address: wanted, errno: error.errnoCode)
        }
        self.address = ListenAddress(host: wanted.host, port: Self.port(of: descriptor))
        self.descriptor = Mutex(descriptor)
    }

    /// Opens the wanted port or, if nobody chose it and it is taken, another one.
    ///
    /// - Parameters:
    ///   - place: The address of a host that has to be looked up.
    ///   - appPorts: Where apps will connect.
    /// - Throws: `DashboardListenerError`, written for people.
    static func open(
        _ wanted: ListenAddress, at place: SocketAddress?, isChosen: Bool,
        besides appPorts: [ListenAddress], _ logger: Logger
    ) throws(DashboardListenerError) -> DashboardListener {
        let place = place ?? HostLookup.known(wanted)
        if isChosen { return try DashboardListener(wanted, at: place) }
        if !appPorts.contains(where: { $0.overlaps(wanted) }) {
            do throws(DashboardListenerError) {
                return try DashboardListener(wanted, at: place)
            } catch {
                guard error.errno == EADDRINUSE else { throw error }
            }
        }
        let other = ListenAddress(host: wanted.host, port: 0)
        let listener = try DashboardListener(other, at: HostLookup.known(other))
        logger.info(
            "the dashboard is on port \(listener.address.port): \(wanted.port) is taken")
        return listener
    }

    deinit {
        if let descriptor = takeDescriptor() { Glibc.close(descriptor) }
    }

    /// The listening socket, once; the caller closes it.
    func takeDescriptor() -> Int32? {
        descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
    }

    private static func bound(to address: SocketAddress) throws(IOError) -> Int32 {
        let family = address.protocol == .inet6 ? AF_INET6 : AF_INET
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(family, Int32(kind), 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        var yes: Int32 = 1
        // A restarted relayd does not wait for the connections of the previous one.
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let isBound = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 }
        guard isBound, ControlListener.listen(on: descriptor) else {
            let code = errno
            Glibc.close(descriptor)
            throw IOError(errnoCode: code, reason: "bind")
        }
        return descriptor
    }

    private static func port(of descriptor: Int32) -> Int {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = getsockname(descriptor, $0, &length)
            }
            // IPv4 and IPv6 addresses have the port at the same offset, after the family.
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                Int(UInt16(bigEndian: $0.pointee.sin_port))
            }
        }
    }
}

/// Why the dashboard is not served. relayd runs without it: it is only for looking at the relay.
package struct DashboardListenerError: Error, Equatable, CustomStringConvertible {
    package let address: ListenAddress
    /// nil if the host has no address.
    package let errno: Int32?

    package var description: String {
        let what = "the dashboard cannot be served on \(address)"
        switch errno {
        case EADDRINUSE:
            return """
                \(what): another program uses this port; see which with \
                ss -ltnp 'sport = :\(address.port)', or choose another dashboard.address
                """
        case EADDRNOTAVAIL:
            return """
                \(what): this machine has no such address; ip address shows which it has. Or use \
                127.0.0.1
                """
        case EACCES: return "\(what): ports below 1024 need root; choose a higher one"
        case let code?: return "\(what): \(String(cString: strerror(code)))"
        case nil: return "\(what): the host is not known; use 127.0.0.1"
        }
    }
}
