import NIOCore
import NIOPosix
import Synchronization

/// One attempt to reach a TCP head unit, which may take several connections: while one stays unanswered, another is
/// begun beside it, and the first one answered counts.
///
/// The kernel repeats an unanswered SYN after 1, 3 and 7 s. A head unit that comes back in between would be reached
/// up to 4 s late; so a new connection is begun every `TCPTransport.repeatInterval`.
final class TCPConnecting: Sendable {
    private let bootstrap: @Sendable () -> ClientBootstrap
    private let host: String
    private let port: Int
    private let loop: any EventLoop
    private let deadline: NIODeadline
    private let onAttempt: @Sendable (any Channel) -> Void
    private let result: EventLoopPromise<any Channel>
    /// Connections under way.
    private let pending = Mutex<[any Channel]>([])

    init(
        _ bootstrap: @escaping @Sendable () -> ClientBootstrap, to host: String, _ port: Int,
        on loop: any EventLoop,
        until deadline: NIODeadline, onAttempt: @escaping @Sendable (any Channel) -> Void = { _ in }
    ) {
        self.bootstrap = bootstrap
        self.host = host
        self.port = port
        self.loop = loop
        self.deadline = deadline
        self.onAttempt = onAttempt
        result = loop.makePromise()
    }

    /// Connects; the caller owns the channel.
    func run() async -> Result<any Channel, any Error> {
        result.futureResult.whenComplete { outcome in
            // Connections that are not the winner must not stay open.
            let winner = try? outcome.get()
            for channel in self.pending.withLock({ $0 }) where channel !== winner {
                channel.close(promise: nil)
            }
        }
        loop.execute { self.begin() }
        return await withTaskCancellationHandler {
            await result.futureResult.outcome()
        } onCancel: {
            result.fail(CancellationError())
        }
    }

    private func begin() {
        let left = deadline - .now()
        guard left > .zero else { return result.fail(ChannelError.connectTimeout(.zero)) }
        let isLast = left <= TCPTransport.repeatInterval
        let another =
            isLast
            ? nil
            : loop.scheduleTask(in: TCPTransport.repeatInterval) { self.begin() }
        result.futureResult.whenComplete { _ in another?.cancel() }
        bootstrap()
            .connectTimeout(left)
            .channelInitializer { channel in
                self.pending.withLock { $0.append(channel) }
                self.onAttempt(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .connect(host: host, port: port)
            .whenComplete { outcome in
                switch outcome {
                case .failure(let error): self.result.fail(error)
                case .success(let channel): self.succeeded(channel)
                }
            }
    }

    private func succeeded(_ channel: any Channel) {
        result.succeed(channel)
        result.futureResult.whenComplete { outcome in
            if (try? outcome.get()) !== channel { channel.close(promise: nil) }
        }
    }
}
