// Serves the stand-in for sdl_core over TCP, for tests of the built programs.

package import NIOCore
import NIOPosix
import RelayCore
import SDLProtocol

/// One core for all connections it accepts, on one event loop.
package final class SDLCoreServer: Sendable {
    private let server: any Channel
    private let core: NIOLoopBound<Core>
    package var port: Int { server.localAddress?.port ?? 0 }

    private init(server: any Channel, core: NIOLoopBound<Core>) {
        self.server = server
        self.core = core
    }

    /// Runs `body` while the core listens on `port`, 0 for any free one.
    package static func run(
        port: Int = 0, habits: SDLCoreHabits = SDLCoreHabits(), seed: UInt64 = 1,
        _ body: (SDLCoreServer) async throws -> Void
    ) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let core = try await loop.submit {
            NIOLoopBound(
                Core(model: SDLCoreModel(habits: habits, seed: seed), loop: loop), eventLoop: loop)
        }.get()
        let channel = try await ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        SDLCoreHandler(core: core.value))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        let server = SDLCoreServer(server: channel, core: core)
        do {
            try await body(server)
        } catch {
            try? await server.stop()
            throw error
        }
        try await server.stop()
    }

    /// Reads or changes the core, and sends the frames that result.
    package func look<Value: Sendable>(
        _ body: @escaping @Sendable (inout SDLCoreModel, NIODeadline) -> Value
    ) async throws -> Value {
        try await server.eventLoop.submit { self.core.value.change(body) }.get()
    }

    /// Closes all connections, as a crash does.
    package func stop() async throws {
        await server.closeListener()
        try await server.eventLoop.submit { self.core.value.closeAll() }.get()
    }
}

/// The model, its channels and its one timer; on the event loop.
private final class Core {
    private var model: SDLCoreModel
    private let loop: any EventLoop
    private var contexts: [SDLCoreModel.ConnectionID: ChannelHandlerContext] = [:]
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?

    init(model: SDLCoreModel, loop: any EventLoop) {
        self.model = model
        self.loop = loop
    }

    func change<Value>(_ body: (inout SDLCoreModel, NIODeadline) -> Value) -> Value {
        let now = loop.now
        model.advance(to: now)
        let value = body(&model, now)
        carryOut()
        return value
    }

    func connect(_ context: ChannelHandlerContext) -> SDLCoreModel.ConnectionID {
        change { model, now in
            let id = model.connect(at: now)
            contexts[id] = context
            return id
        }
    }

    func disconnected(_ id: SDLCoreModel.ConnectionID) {
        guard contexts.removeValue(forKey: id) != nil else { return }
        change { $0.disconnected(id, at: $1) }
    }

    func closeAll() {
        for context in contexts.values { context.close(promise: nil) }
        timer?.scheduled.cancel()
    }

    private func carryOut() {
        for output in model.takeOutput() {
            guard let context = contexts[output.connection] else { continue }
            switch output {
            case .frame(let sent):
                context.writeAndFlush(NIOAny(sent.frame.wire), promise: nil)
            case .close: context.close(promise: nil)
            }
        }
        let deadline = model.nextDeadline
        guard deadline != timer?.deadline else { return }
        timer?.scheduled.cancel()
        timer = deadline.map { deadline in
            let scheduled = loop.assumeIsolated().scheduleTask(deadline: deadline) {
                self.timer = nil
                self.change { _, _ in }
            }
            return (deadline, scheduled)
        }
    }
}

private final class SDLCoreHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let core: Core
    private var id: SDLCoreModel.ConnectionID?

    init(core: Core) {
        self.core = core
    }

    func channelActive(context: ChannelHandlerContext) {
        id = core.connect(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let id else { return }
        let bytes = unwrapInboundIn(data)
        core.change { $0.receive(bytes, on: id, at: $1) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let id { core.disconnected(id) }
        id = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
