import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AccessoryLinks

@Suite("LinkOutputQueue tells what the kernel still holds")
struct LinkOutputQueueTests {
    /// Returns the reading of the gauge of a link to `descriptor` after `bytes` were written to the link.
    private func waiting(on descriptor: CInt, after bytes: Int) async throws -> Int {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let gauge = Mutex<NIOLoopBound<() -> Int>?>(nil)
        let channel = try await DescriptorChannel.open(
            socket: OwnedDescriptor(descriptor), on: loop
        ) { channel in
            gauge.withLock {
                $0 = NIOLoopBound(LinkOutputQueue.gauge(of: channel), eventLoop: loop)
            }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        try await channel.writeAndFlush(ByteBuffer(repeating: 0x5A, count: bytes))
        let waiting = try await loop.submit { gauge.withLock { $0?.value() } ?? -1 }.get()
        try await channel.close()
        let afterwards = try await loop.submit { gauge.withLock { $0?.value() } ?? -1 }.get()
        #expect(afterwards == 0, "a closed link holds nothing")
        return waiting
    }

    @Test("a socket pair says what its peer has not read")
    func socketPair() async throws {
        var ends: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        #expect(try await waiting(on: ends[0], after: 10_000) >= 10_000)
    }

    @Test("a TCP connection says what it has not sent, and counts nothing that is on the network")
    func tcp() async throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        // A small window, so that most of what is written cannot be sent.
        var size: CInt = 4096
        setsockopt(
            listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout.size(ofValue: size)))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let sender = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let connected = withUnsafeMutableBytes(of: &address) { bytes -> CInt in
            guard let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                bind(listener, address, length) == 0, listen(listener, 1) == 0,
                getsockname(listener, address, &length) == 0
            else { return -1 }
            return connect(sender, address, length)
        }
        #expect(connected == 0)
        let waiting = try await waiting(on: sender, after: 64 << 10)
        #expect(waiting > 0 && waiting < 64 << 10, "\(waiting)")
    }
}
