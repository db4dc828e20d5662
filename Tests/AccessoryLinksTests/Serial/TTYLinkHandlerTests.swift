import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import AccessoryLinks

/// A Unix socket answers TIOCOUTQ with the bytes its peer has not read, as a UART does with the
/// bytes it has not sent; a pty always says 0. So a socket pair stands in for the UART here.
@Suite("TTYLinkHandler")
struct TTYLinkHandlerTests {
    private func open(
        drainLimit: TimeAmount = TTYLinkHandler.drainLimit
    ) async throws -> (channel: any Channel, peer: OwnedDescriptorBox) {
        var ends: (CInt, CInt) = (-1, -1)
        let made = withUnsafeMutableBytes(of: &ends) { bytes in
            socketpair(
                AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0,
                bytes.bindMemory(to: CInt.self).baseAddress)
        }
        try #require(made == 0)
        let near = OwnedDescriptor(ends.0)
        let peer = OwnedDescriptorBox(OwnedDescriptor(ends.1))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let calls = DeviceCalls()
        let use = try await calls.begin("/dev/ttyRelaydTest", on: loop)
        let tty = TTY(try near.duplicate(), use, calls)
        let channel = try await DescriptorChannel.open(socket: near, on: loop) { channel in
            channel.closeFuture.whenComplete { _ in tty.end() }
            return channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    TTYLinkHandler(
                        tty: tty, hangUp: LinkProblem(.closedByPeer, "hung up"), limit: drainLimit))
            }
        }
        return (channel, peer)
    }

    @Test("a close waits until the driver has sent its bytes, and then frees the device")
    func drains() async throws {
        let (channel, peer) = try await open(drainLimit: .hours(1))
        try await channel.send(Array("farewell".utf8))
        let closed = channel.eventLoop.makePromise(of: Void.self)
        channel.close(promise: closed)
        // The loop has processed the request and kept the channel open.
        let isActive = try await channel.eventLoop.submit { channel.isActive }.get()
        #expect(isActive)
        #expect(peer.read(8) == Array("farewell".utf8))
        try await withDeadline("the close") { try await closed.futureResult.get() }
        // No descriptor is left: the peer reads the end of the stream.
        #expect(peer.read(1) == [])
    }

    @Test("a driver that cannot send delays the close for a moment only")
    func givesUp() async throws {
        let (channel, peer) = try await open()
        try await channel.send([1])
        try await withDeadline("the close") { try await channel.close() }
        #expect(peer.read(1) == [1])
        #expect(peer.read(1) == [])
    }

    @Test("with nothing to send the close is immediate, and a second one harmless")
    func closesTwice() async throws {
        let (channel, peer) = try await open()
        try await channel.close()
        await #expect(throws: ChannelError.self) { try await channel.close() }
        #expect(peer.read(1) == [])
    }
}

/// The far end of a socket pair, read with blocking calls.
private final class OwnedDescriptorBox: Sendable {
    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    func read(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, size in
            size = max(0, Glibc.read(descriptor.rawValue, buffer.baseAddress, count))
        }
    }
}
