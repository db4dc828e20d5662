// A head unit that says exactly what a test tells it to.

import NIOCore
import NIOPosix
import RelayCore
package import SDLProtocol
import Synchronization

/// Listens like sdl_core's TCP adapter and hands out each connection the relay makes.
package final class FakeAccessory: Sendable {
    private let server: any Channel
    private let accepted: Accepted
    package var port: Int { server.localAddress?.port ?? 0 }

    private init(server: any Channel, accepted: Accepted) {
        self.server = server
        self.accepted = accepted
    }

    /// Runs `body` with a head unit listening on `port`, 0 for any free one.
    package static func run(
        port: Int = 0, _ body: (FakeAccessory) async throws -> Void
    ) async throws {
        let accepted = Accepted()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    accepted.add(try FramePeer.wrap(channel))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        do {
            try await body(FakeAccessory(server: server, accepted: accepted))
        } catch {
            await server.closeListener()
            throw error
        }
        await server.closeListener()
    }

    /// The next connection the relay makes.
    package func nextLink() async throws -> FramePeer {
        try await accepted.next(on: server.eventLoop).get()
    }
}

/// Connections in order of arrival, and the calls that wait for one.
private final class Accepted: Sendable {
    private struct State {
        var ready: [FramePeer] = []
        var waiting: [EventLoopPromise<FramePeer>] = []
    }

    private let state = Mutex(State())

    func add(_ peer: FramePeer) {
        let waiter = state.withLock { state -> EventLoopPromise<FramePeer>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.ready.append(peer)
            return nil
        }
        waiter?.succeed(peer)
    }

    func next(on loop: any EventLoop) -> EventLoopFuture<FramePeer> {
        let promise = loop.makePromise(of: FramePeer.self)
        let ready = state.withLock { state -> FramePeer? in
            guard state.ready.isEmpty else { return state.ready.removeFirst() }
            state.waiting.append(promise)
            return nil
        }
        if let ready {
            promise.succeed(ready)
        } else {
            loop.scheduleTask(in: FramePeer.patience) {
                promise.fail(FramePeer.Failure.nothingCame)
            }
        }
        return promise.futureResult
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

    /// Answers a request with SUCCESS, as a head unit does.
    package func answer(_ request: Frame) async throws {
        if let success = request.success { try await send(success) }
    }
}
