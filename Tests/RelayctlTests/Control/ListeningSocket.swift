import Glibc
import NIOCore
import RelayTesting
import Testing

/// A Unix socket that listens but accepts no connection, so that clients queue.
struct ListeningSocket {
    let path: String
    let directory: String
    let descriptor: CInt

    init() throws {
        var template = Array("/tmp/relayctl-test-XXXXXX".utf8CString)
        try self.init(in: String(cString: try #require(mkdtemp(&template))))
    }

    /// Listens at `c.sock` in an existing directory, and is removed with it.
    init(in directory: String) throws {
        self.directory = directory
        path = directory + "/c.sock"
        descriptor = try Self.unix()
        let bound = try SocketAddress(unixDomainSocketPath: path).withSockAddr {
            bind(descriptor, $0, socklen_t($1)) == 0 && listen(descriptor, 1) == 0
        }
        try #require(bound)
    }

    /// Connects silent clients until the kernel takes no more.
    func fill() throws -> [CInt] {
        let address = try SocketAddress(unixDomainSocketPath: path)
        var clients: [CInt] = []
        while true {
            let client = try Self.unix()
            if address.withSockAddr({ connect(client, $0, socklen_t($1)) }) == 0 {
                clients.append(client)
                continue
            }
            let problem = errno
            close(client)
            try #require(problem == EAGAIN)
            return clients
        }
    }

    /// Accepts the next client and closes the connection at once. Blocks until a client comes.
    func hangUpOnNext() throws {
        var listener = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&listener, 1, CInt(FramePeer.patience.nanoseconds / 1_000_000)) == 1)
        let client = accept(descriptor, nil, nil)
        try #require(client >= 0)
        close(client)
    }

    func remove() {
        close(descriptor)
        unlink(path)
        rmdir(directory)
    }

    private static func unix() throws -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        try #require(descriptor >= 0)
        return descriptor
    }
}
