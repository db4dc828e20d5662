import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// The one owner of an open file descriptor: closed exactly once, on every path.
/// Every transport that opens a descriptor itself holds it in one of these.
struct OwnedDescriptor: ~Copyable, Sendable {
    let rawValue: CInt

    /// Takes over a descriptor that a system call has just returned (not negative).
    init(_ rawValue: CInt) {
        self.rawValue = rawValue
    }

    /// A pair of connected sockets, each to be put into an `OwnedDescriptor`.
    static func socketPair() throws(LinkProblem) -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
        else { throw .system("a socket pair could not be made", errno: errno) }
        return (ends[0], ends[1])
    }

    /// A second descriptor of the same open file.
    func duplicate() throws(LinkProblem) -> OwnedDescriptor {
        let copy = fcntl(rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw .system("a descriptor could not be duplicated", errno: errno)
        }
        return OwnedDescriptor(copy)
    }

    /// Hands the duty to close over to the caller.
    consuming func release() -> CInt {
        let descriptor = rawValue
        discard self
        return descriptor
    }

    deinit {
        close(rawValue)
    }
}

/// Turns descriptors into NIO channels without leaking or double-closing them.
///
/// NIO's `takingOwnershipOfDescriptor(inputOutput:)` duplicates without CLOEXEC and closes its copy
/// a second time when the channel initialiser fails; so the copy is made here. A failed future
/// means "still yours" only if the initialiser never ran; afterwards NIO has closed them.
enum DescriptorChannel {
    /// Opens the link to an accessory that is implemented in code: a socket pair with the link at one end and the
    /// accessory at the other, on the same loop. When one end closes, so does the other.
    ///
    /// - Parameter accessory: makes the accessory's handler; called on the loop.
    static func openPair(
        on loop: any EventLoop, configure: @escaping ChannelSetup,
        accessory: @escaping @Sendable () -> any ChannelHandler
    ) async throws(LinkProblem) -> any Channel {
        let ends = try OwnedDescriptor.socketPair()
        let linkEnd = OwnedDescriptor(ends.0)
        let accessoryEnd = OwnedDescriptor(ends.1)
        let other = try await open(socket: accessoryEnd, on: loop) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(accessory())
            }
        }
        do {
            let link = try await open(socket: linkEnd, on: loop, configure: configure)
            link.closeFuture.whenComplete { _ in other.close(promise: nil) }
            other.closeFuture.whenComplete { _ in link.close(promise: nil) }
            return link
        } catch {
            other.close(promise: nil)
            throw error
        }
    }

    /// A channel that reads and writes a tty (or anything else epoll takes except sockets).
    static func open(
        _ descriptor: consuming OwnedDescriptor, on loop: any EventLoop,
        configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let output = try descriptor.duplicate()
        let input = descriptor
        let taken = Handover()
        let future = NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                taken.markDone()
                return configure(channel)
            }
            .takingOwnershipOfDescriptors(input: input.rawValue, output: output.rawValue)
        let result = await future.outcome()
        if taken.isDone {
            _ = input.release()
            _ = output.release()
        }
        return try result.linkValue("the device could not be given to the event loop")
    }

    /// A channel that only reads (inotify).
    static func openReader(
        _ descriptor: consuming OwnedDescriptor, on loop: any EventLoop,
        readSize: Int, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let input = descriptor
        let taken = Handover()
        let future = NIOPipeBootstrap(group: loop)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readSize)
            )
            .channelInitializer { channel in
                taken.markDone()
                return configure(channel)
            }
            .takingOwnershipOfDescriptor(input: input.rawValue)
        let result = await future.outcome()
        if taken.isDone { _ = input.release() }
        return try result.linkValue("the descriptor could not be given to the event loop")
    }

    /// A channel on a connected stream socket.
    static func open(
        socket: consuming OwnedDescriptor, on loop: any EventLoop,
        configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let socket = socket
        let taken = Handover()
        let future = ClientBootstrap(group: loop)
            .channelInitializer { channel in
                taken.markDone()
                return configure(channel)
            }
            .withConnectedSocket(socket.rawValue)
        let result = await future.outcome()
        if taken.isDone { _ = socket.release() }
        return try result.linkValue("the socket could not be given to the event loop")
    }

    /// Whether NIO has become the owner.
    private final class Handover: Sendable {
        private let done = Atomic(false)
        var isDone: Bool { done.load(ordering: .acquiring) }
        func markDone() { done.store(true, ordering: .releasing) }
    }
}

extension EventLoopFuture where Value: Sendable {
    /// Success or failure, as a value.
    func outcome() async -> Result<Value, any Error> {
        await withCheckedContinuation { continuation in
            whenComplete { continuation.resume(returning: $0) }
        }
    }
}

extension Result where Failure == any Error {
    /// The value; throws a failure as a problem that names what was tried.
    func linkValue(_ what: String) throws(LinkProblem) -> Success {
        switch self {
        case .success(let value): return value
        case .failure(let problem as LinkProblem): throw problem
        case .failure(let error as IOError): throw .system(what, errno: error.errnoCode)
        case .failure(let error): throw LinkProblem(.other, "\(what): \(error)")
        }
    }
}
