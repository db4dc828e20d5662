import Glibc
import NIOCore
import NIOPosix

/// Connects to relayd's socket. Where more clients wait than the kernel queues, it retries: a Unix socket
/// refuses non-blocking clients then (connect(2), EAGAIN).
enum ControlConnection {
    /// Time between attempts while the queue is full.
    private static let interval: TimeAmount = .milliseconds(5)

    /// - Parameter configure: Adds the handlers of the connection.
    /// - Returns: Fails with `ControlClientError.crowded` when the queue stays full for `timeout`, with
    ///   `IOError` for other system errors, and with `SocketAddressError` for a path that is too long.
    static func open(
        _ path: String, on loop: any EventLoop, within timeout: TimeAmount,
        configure: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        connected(path, on: loop, within: timeout).flatMap { descriptor in
            ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try configure(channel.pipeline.syncOperations)
                    }
                }
                .withConnectedSocket(descriptor)
        }
    }

    /// A connected descriptor, which the caller has to close.
    private static func connected(
        _ path: String, on loop: any EventLoop, within timeout: TimeAmount
    ) -> EventLoopFuture<CInt> {
        loop.flatSubmit {
            do {
                let address = try SocketAddress(unixDomainSocketPath: path)
                let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
                let descriptor = socket(AF_UNIX, CInt(kind), 0)
                guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
                let attempt = Attempt(
                    path: path, descriptor: descriptor, address: address,
                    deadline: .now() + timeout, promise: loop.makePromise(of: CInt.self))
                attempt.run(on: loop)
                return attempt.promise.futureResult
            } catch {
                return loop.makeFailedFuture(error)
            }
        }
    }

    private struct Attempt {
        let path: String
        let descriptor: CInt
        let address: SocketAddress
        let deadline: NIODeadline
        let promise: EventLoopPromise<CInt>

        func run(on loop: any EventLoop) {
            let problem = address.withSockAddr { pointer, length in
                connect(descriptor, pointer, socklen_t(length)) == 0 ? 0 : errno
            }
            switch problem {
            case 0:
                promise.succeed(descriptor)
            case EAGAIN where NIODeadline.now() < deadline, EINTR:
                loop.scheduleTask(in: ControlConnection.interval) { run(on: loop) }
            default:
                close(descriptor)
                promise.fail(
                    problem == EAGAIN
                        ? ControlClientError.crowded(path)
                        : IOError(errnoCode: problem, reason: "connect"))
            }
        }
    }
}
