// The socket options of apps' connections.

import Glibc
import Logging
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import RelayCore

@Suite("Apps' sockets")
struct AppListenerTests {
    private static let options: [ChannelOptions.Types.SocketOption] =
        [.init(level: .socket, name: .so_keepalive)]
        + [TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPCNT, TCP_KEEPINTVL, TCP_USER_TIMEOUT]
        .map { .init(level: .tcp, name: .init(rawValue: $0)) }

    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// The option values of an app's connection that is accepted with this bootstrap.
    private func accepted(
        isOwn: Bool, by listen: (ServerBootstrap) async throws -> (any Channel, FramePeer)
    ) async throws -> [Int] {
        let relay = try await Relay.start(
            on: loop, configuration: RelayConfiguration(), accessoryAddress: "test:",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let connections = AsyncStream.makeStream(of: (any Channel).self)
        let bootstrap = AppListener.bootstrap(for: relay, isOwn: isOwn)
            .childChannelInitializer { channel in
                connections.continuation.yield(channel)
                return relay.configureApp(channel)
            }
        let (listener, app) = try await listen(bootstrap)
        var channels = connections.stream.makeAsyncIterator()
        let channel = try #require(await channels.next())
        // Once it is an app, its socket has all options.
        while try await relay.snapshot().apps.isEmpty { await Task.yield() }
        var values: [Int] = []
        for option in Self.options {
            values.append(try await channel.getOption(option).get())
        }
        try await listener.close()
        await app.close()
        await relay.shutDown()
        return values
    }

    private func isComplete(_ values: [Int]) -> Bool {
        values.prefix(2).allSatisfy { $0 != 0 } && values.dropFirst(2) == [3, 5, 1, 60_000]
    }

    @Test("without delay, with sdl_core's keepalive, a minute for what is not acknowledged")
    func own() async throws {
        let values = try await accepted(isOwn: true) { bootstrap in
            let listener = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            let port = try #require(listener.localAddress?.port)
            return (listener, try await FramePeer.connect(port: port))
        }
        #expect(isComplete(values), "\(values)")
    }

    @Test("the same where an app waited in a socket that listened before relayd had it")
    func adopted() async throws {
        let values = try await accepted(isOwn: false) { bootstrap in
            let first = try await ServerBootstrap(group: loop)
                .serverChannelOption(.autoRead, value: false).bind(host: "127.0.0.1", port: 0).get()
            let app = try await FramePeer.connect(port: try #require(first.localAddress?.port))
            let descriptor = try await loop.submit {
                try first.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                    of: NIOBSDSocket.Handle.self
                ) { dup($0) }
            }.get()
            try await first.close()
            return (try await bootstrap.withBoundSocket(try #require(descriptor)).get(), app)
        }
        #expect(isComplete(values), "\(values)")
    }
}
