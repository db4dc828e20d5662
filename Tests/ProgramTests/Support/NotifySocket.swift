// The socket on which systemd receives messages of its services.

import Glibc
import RelayTesting

/// A Unix datagram socket in a directory of the test's, for NOTIFY_SOCKET.
struct NotifySocket {
    /// The messages of relayd, one assignment per line.
    let said: OutputLines

    init(path: String) async throws {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw SystemFailure("no socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            bytes.copyBytes(from: path.utf8.prefix(bytes.count - 1))
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0
            }
        }
        guard isBound else {
            let failure = SystemFailure("\(path) could not be bound")
            close(descriptor)
            throw failure
        }
        said = try await OutputLines.read(descriptor, endsLineAfterRead: true).lines
    }
}
