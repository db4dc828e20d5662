import Glibc

/// A port of this machine on which nobody listens, and which nobody else is given meanwhile.
package enum UnusedPort {
    /// Runs `body` while the port is kept from others. A head unit of the test may listen on it.
    package static func run(_ body: (Int) async throws -> Void) async throws {
        // Bound and not listening: connections are refused, and because both sides say
        // SO_REUSEADDR, a socket that listens may come beside it.
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw SystemFailure("no socket") }
        defer { close(descriptor) }
        var yes: CInt = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw SystemFailure("no port") }
        try await body(Int(UInt16(bigEndian: address.sin_port)))
    }
}
