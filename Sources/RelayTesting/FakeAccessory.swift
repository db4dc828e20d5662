// A head unit that says exactly what a test tells it to.

package import NIOCore
import NIOPosix
package import SDLProtocol

/// Listens like sdl_core's TCP adapter and hands out each connection the relay makes.
package final class FakeAccessory: Sendable {
    private let server: NIOAsyncChannel<FramePeer, Never>
    package let port: Int

    private init(server: NIOAsyncChannel<FramePeer, Never>, port: Int) {
        self.server = server
        self.port = port
    }

    /// Runs `body` with a head unit listening on `port`, 0 for any free one.
    package static func run<Result: Sendable>(
        port: Int = 0,
        _ body:
            @Sendable (FakeAccessory, inout NIOAsyncChannelInboundStream<FramePeer>.AsyncIterator)
            async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try FramePeer.wrap(channel) }
            }
        let accessory = FakeAccessory(server: server, port: server.channel.localAddress?.port ?? 0)
        return try await server.executeThenClose { inbound in
            var links = inbound.makeAsyncIterator()
            return try await body(accessory, &links)
        }
    }
}

extension FramePeer {
    /// Answers a StartService as a head unit does and returns it.
    @discardableResult
    package func grant(session: UInt8) async throws -> Frame {
        let request = try await next()
        try await send(.startServiceACK(session: session))
        return request
    }
}
