// Blocking POSIX sockets and ttys: the cheapest possible load, because it shares the processors with
// the measured programs.

import Glibc

/// One connected or listening stream socket, or the master of a pty.
final class Socket: Sendable {
    let descriptor: Int32
    /// Ttys support neither `send` nor a time limit for waiting.
    private let isTTY: Bool

    /// Nothing here takes this long; a benchmark must end even when bytes get lost.
    static let patienceSeconds = 30

    init(_ descriptor: Int32) throws {
        self.descriptor = descriptor
        isTTY = false
        try Self.limitWaiting(descriptor, seconds: Self.patienceSeconds)
    }

    /// - Parameter descriptor: of a pty's master; non-blocking.
    init(tty descriptor: Int32) {
        self.descriptor = descriptor
        isTTY = true
    }

    deinit { close(descriptor) }

    static func limitWaiting(_ descriptor: Int32, seconds: Int) throws {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        guard setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size) == 0,
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size) == 0
        else { throw BenchmarkError.system("setsockopt") }
    }

    // MARK: Connecting

    /// Listens on a free port of this machine.
    ///
    /// - Parameter receiveBuffer: SO_RCVBUF of accepted sockets, in bytes; nil leaves it to the system.
    ///   With it, segments are as on Ethernet: a window smaller than one of loopback's, of 64 KB, would
    ///   only be probed, every 200 ms.
    static func listen(receiveBuffer: Int32? = nil) throws -> (socket: Socket, port: UInt16) {
        let socket = try Socket(stream(AF_INET))
        if let receiveBuffer {
            try socket.set(SOL_SOCKET, SO_RCVBUF, receiveBuffer)
            try socket.set(Int32(IPPROTO_TCP), TCP_MAXSEG, 1460)
        }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket.descriptor, $0, length) == 0
                    && Glibc.listen(socket.descriptor, 16) == 0
                    && getsockname(socket.descriptor, $0, &length) == 0
            }
        }
        guard result else { throw BenchmarkError.system("listen on a free port") }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    func accept() throws -> Socket {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { throw BenchmarkError.system("waiting for a connection") }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return try Socket(accepted).withoutDelay()
    }

    static func connect(port: UInt16) throws -> Socket {
        let socket = try Socket(stream(AF_INET))
        var address = loopback(port: port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket.descriptor, $0, length)
            }
        }
        guard result == 0 else { throw BenchmarkError.system("connect to port \(port)") }
        return try socket.withoutDelay()
    }

    static func connect(unix path: String) throws -> Socket {
        let socket = try Socket(stream(AF_UNIX))
        var address = try sockaddr_un(path: path)
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket.descriptor, $0, length)
            }
        }
        guard result == 0 else { throw BenchmarkError.system("connect to \(path)") }
        return socket
    }

    private static func stream(_ family: Int32) throws -> Int32 {
        let descriptor = socket(
            family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchmarkError.system("socket") }
        return descriptor
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func withoutDelay() throws -> Socket {
        try set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return self
    }

    func set(_ level: Int32, _ option: Int32, _ value: Int32) throws {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, level, option, &value, size) == 0 else {
            throw BenchmarkError.system("setsockopt")
        }
    }

    /// Ends both directions: a call that waits on this socket, in any thread, returns.
    func shutDown() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    // MARK: Bytes

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var offset = 0
        while offset < bytes.count {
            let (start, rest) = (bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
            let count =
                isTTY
                ? Glibc.write(descriptor, start, rest)
                : send(descriptor, start, rest, Int32(MSG_NOSIGNAL))
            guard count > 0 else {
                guard isTTY, waitToTryAgain(POLLOUT) else {
                    throw BenchmarkError.system("write")
                }
                continue
            }
            offset += count
        }
    }

    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try write($0) }
    }

    /// Reads whatever has arrived; returns 0 at the end of the stream.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let deadline = isTTY ? Clock.now() + Double(Self.patienceSeconds) : .infinity
        while true {
            let count =
                isTTY
                ? Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                : recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            guard isTTY, Clock.now() < deadline, waitToTryAgain(POLLIN) else {
                throw BenchmarkError.system("read")
            }
        }
    }

    /// Waits until a tty that was not ready is ready; false when the error was another one.
    private func waitToTryAgain(_ event: Int32) -> Bool {
        // EIO: nobody has opened the other end (yet).
        if errno == EIO {
            usleep(1000)
            return true
        }
        guard errno == EAGAIN || errno == EINTR else { return false }
        return awaits(event, milliseconds: Int32(Self.patienceSeconds * 1000))
    }

    /// Whether there is something to read, or the end of the stream, within this time.
    func isReadable(within milliseconds: Int32) -> Bool {
        awaits(POLLIN, milliseconds: milliseconds)
    }

    private func awaits(_ event: Int32, milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    func readExactly(into buffer: UnsafeMutableRawBufferPointer) throws {
        var offset = 0
        while offset < buffer.count {
            let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]))
            guard count > 0 else { throw BenchmarkError("the connection was closed") }
            offset += count
        }
    }

    /// Reads and discards `count` bytes.
    func discard(_ count: Int, buffer: UnsafeMutableRawBufferPointer) throws {
        var rest = count
        while rest > 0 {
            let some = try read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(rest, buffer.count)]))
            guard some > 0 else { throw BenchmarkError("the connection was closed") }
            rest -= some
        }
    }

    func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try read(into: $0) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
