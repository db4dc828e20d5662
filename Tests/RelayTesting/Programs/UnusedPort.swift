import Glibc

/// A port of this machine on which no program listens, and which no other program gets meanwhile.
package enum UnusedPort {
    /// Below the ports that the kernel picks for sockets without one (ip_local_port_range): a port that
    /// it does not hand out cannot be taken between two uses either.
    private static let range: ClosedRange<UInt16> = 20_000...32_767
    private static let attempts = 1000

    /// Runs `body` while the port is kept from other programs. A head unit of the test may listen on it.
    package static func run(_ body: (Int) async throws -> Void) async throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemFailure("no socket") }
        defer { close(descriptor) }
        guard let port = bindAnywhere(descriptor) else { throw SystemFailure("no port") }
        // Bound exclusively, and not listening: connections are refused, and from now on another
        // socket may listen on the port if it sets SO_REUSEADDR, too.
        var yes: CInt = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        try await body(Int(port))
    }

    private static func bindAnywhere(_ descriptor: CInt) -> UInt16? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return (0..<attempts).lazy.map { _ in UInt16.random(in: range) }.first { port in
            address.sin_port = port.bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }
}
