package import ControlAPI
import HTTPTypes
import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
import NIOPosix
import RelayCore
import ServiceLifecycle
import Synchronization

/// The control API: HTTP on the Unix socket and, for the dashboard, on a TCP port, from the first
/// listen to the last answer. Who may ask what there is `RequestGate`'s to say.
///
/// The daemon makes one before anything else (it throws when another relayd is running) and runs
/// it in its service group. Routing, parsing and connection handling are Hummingbird's; accepting
/// is done here, for two reasons: Hummingbird's `Application` keeps a date cache that wakes an idle
/// process every second, and its `Server` binds by path with whatever umask there is, while the
/// control socket must have its mode and group before anybody can connect (`ControlListener`).
package struct ControlServer: Service {
    package typealias Configuration = ControlListener.Configuration

    private let listener: ControlListener
    private let dashboard: Dashboard
    private let responder: ControlResponder
    private let crowd: ControlCrowd
    private let identify: @Sendable (any Channel) async throws -> ControlPeer?
    private let eventLoopGroup: any EventLoopGroup
    private let executor: (any TaskExecutor)?
    private let logger: Logger

    /// Creates the socket; clients may connect from here on and are answered once `run` is called.
    ///
    /// - Parameters:
    ///   - inherited: a socket that listens already, instead of what the configuration says.
    ///   - status: asked for every request; may be called concurrently.
    ///   - apps: what is known of apps; nothing, when not given.
    ///   - messages: what of the traffic is kept; nothing, when not given.
    ///   - events: what happened; nothing, when not given.
    ///   - reports: counts and configuration; nothing, when not given.
    ///   - actions: what clients may do.
    ///   - log: what clients may change of the log.
    ///   - devices: what is plugged in.
    ///   - dashboard: where browsers may ask as well; nowhere, when not given.
    ///   - crowd: counts how often there was no room for a client.
    ///   - executor: runs what is done for clients; the caller's, when not given.
    ///   - identify: says who is at the other end of a connection to the Unix socket.
    /// - Throws: `ControlListenerError` or `ControlSocketError`, written for people.
    package init(
        configuration: Configuration, inherited: CInt? = nil,
        status: @escaping @Sendable () async throws -> StatusSnapshot,
        apps: AppHandlers? = nil,
        messages: MessageHandlers = MessageHandlers(ring: MessageRing(maximumBytes: 0)),
        events: EventHandlers = EventHandlers(ring: EventRing(instance: "0")),
        reports: ReportHandlers? = nil, actions: ControlActions = .none, log: LogControl = .none,
        devices: DeviceHandlers = DeviceHandlers(), dashboard: @autoclosure () -> Dashboard? = nil,
        crowd: ControlCrowd = ControlCrowd(),
        identify: @escaping @Sendable (any Channel) async throws -> ControlPeer? =
            ControlPeer.of,
        eventLoopGroup: any EventLoopGroup, executor: (any TaskExecutor)? = nil, logger: Logger
    ) throws {
        self.listener =
            try inherited.map {
                ControlListener(
                    inherited: $0, isReadOnlyForOthers: configuration.isReadOnlyForOthers)
            } ?? ControlListener(configuration)
        // A second relayd has stopped by now, and does not complain about the port as well.
        self.dashboard = dashboard() ?? .off
        self.crowd = crowd
        self.identify = identify
        self.eventLoopGroup = eventLoopGroup
        self.executor = executor
        self.logger = logger
        let handlers = ControlHandlers(
            status: status, apps: apps ?? AppHandlers(knowingNothingBut: status),
            messages: messages, events: events, reports: reports ?? ReportHandlers(status: status),
            writes: WriteHandlers(status: status, actions: actions, log: log), devices: devices,
            dashboard: self.dashboard)
        self.responder = ControlResponder(handlers)
    }

    /// Path of the socket that is served.
    package var path: String { listener.path }

    /// Where the dashboard is served, if it is.
    package var dashboardURL: String? { dashboard.report.url }

    /// Serves until cancelled or, in a service group, until graceful shutdown; takes the socket's
    /// file away first.
    package func run() async throws {
        try await withTaskExecutorPreference(executor) { try await serve() }
    }

    private func serve() async throws {
        guard let descriptor = listener.takeDescriptor() else { return }
        defer { listener.remove() }
        logger.debug("control socket is \(path)")
        if listener.writePolicy.isGroupUnknown { logger.warning("\(WritePolicy.hint)") }
        let owner = listener.writePolicy.owner
        let socket = ControlDoor(
            kind: .unixSocket(listener.writePolicy), gate: .unixSocket(dashboard.gate.token),
            shares: ControlShares(.unixSocket, owner: owner, crowd: crowd), identify: identify)
        let port = ControlDoor(
            kind: .port, gate: dashboard.gate,
            shares: ControlShares(.port, owner: owner, crowd: crowd), identify: identify)
        try await withThrowingTaskGroup { group in
            group.addTask { [listener] in
                try await serve(on: descriptor, socket) { listener.remove() }
            }
            if let descriptor = dashboard.listener?.takeDescriptor() {
                group.addTask { try await serve(on: descriptor, port) {} }
            }
            try await group.waitForAll()
        }
    }

    /// Serves the clients of one socket.
    private func serve(
        on descriptor: NIOBSDSocket.Handle, _ door: ControlDoor,
        onShutdown: @escaping @Sendable () -> Void
    ) async throws {
        let server = try await accept(on: descriptor, door)
        try await withGracefulShutdownHandler {
            try await withThrowingDiscardingTaskGroup { clients in
                try await server.executeThenClose { inbound in
                    for try await client in inbound {
                        clients.addTask { await serve(client, door) }
                    }
                }
            }
        } onGracefulShutdown: {
            onShutdown()
            server.channel.close(promise: nil)
        }
    }

    // MARK: - Accepting

    private func accept(
        on descriptor: NIOBSDSocket.Handle, _ door: ControlDoor
    ) async throws -> NIOAsyncChannel<AcceptedClient, Never> {
        let (logger, crowd) = (logger, crowd)
        // Sets the pipeline up; answers are given by one that knows who asks.
        let http = Self.http { _, _ in Response(status: .internalServerError) }
        return try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptGuard {
                            logger.debug("a client has to wait: \($0)")
                        })
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(
                            delegate: ControlPlaces(
                                ControlSocket.maximumConnections, crowd: crowd, logger: logger)))
                }
            }
            // A client may shut its sending side after the request, as `nc -N` does.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(descriptor) { channel in
                guard let peer = door.peer(of: channel), let place = door.shares.connect(peer)
                else {
                    logger.debug("a client is turned away: it has its share of connections")
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(TurnAwayHandler())
                        return AcceptedClient()
                    }
                }
                return http.setup(channel: channel, logger: logger).flatMapThrowing { client in
                    // Before anything is made of what came: what is no path never becomes one.
                    let decoder = try channel.pipeline.syncOperations.handler(
                        type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                    try channel.pipeline.syncOperations.addHandler(
                        OriginFormHandler(), position: .after(decoder))
                    return AcceptedClient(client, peer, place)
                }
            }
    }

    /// One client, until it leaves. At shutdown an idle one is closed at once, one that is being
    /// answered gets `ControlLimits.farewell` to take the answer.
    private func serve(_ accepted: AcceptedClient, _ door: ControlDoor) async {
        guard let client = accepted.take() else { return }
        let channel = client.channel
        let (responder, logger, peer) = (responder, logger, accepted.peer)
        let http = Self.http { request, channel in
            try await responder.respond(to: request, at: door, on: channel, from: peer, logger)
        }
        defer { withExtendedLifetime(accepted) {} }
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await http.handle(value: client, logger: logger) }
                // An answer that waits for news would not notice that its client left.
                group.addTask { try? await channel.closeFuture.get() }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            channel.eventLoop.scheduleTask(in: ControlLimits.farewell) {
                channel.close(promise: nil)
            }
        }
    }

    // MARK: - Answering

    private static func http(
        _ answer: @escaping @Sendable (Request, any Channel) async throws -> Response
    ) -> HTTP1Channel {
        HTTP1Channel(
            responder: { request, writer, channel in
                // Who trickles a body in must not sit there for good.
                let deadline = channel.eventLoop.scheduleTask(in: ControlLimits.idle) {
                    channel.close(promise: nil)
                }
                var response = try await answer(request, channel)
                deadline.cancel()
                DashboardPage.harden(&response.headers)
                response.headers[.server] = "relayd/\(Version.current)"
                // What is left of a body is not waited for.
                let length = request.headers[.contentLength] ?? "0"
                let hasBody = length != "0" || request.headers[.transferEncoding] != nil
                if hasBody { response.headers[.connection] = "close" }
                try await writer.write(response: response.head, body: response.body)
                if hasBody { channel.close(promise: nil) }
            },
            configuration: .init(
                additionalChannelHandlers: [StalledClientHandler(ControlLimits.stall)],
                idleTimeout: ControlLimits.idle,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: ControlLimits.headerFieldBytes,
                    maxHeaderListSize: ControlLimits.headerBytes,
                    maxHeaderFieldCount: ControlLimits.headerFields)))
    }
}

/// A client between being accepted and being served.
///
/// When the server is cancelled, clients that wait to be served are dropped; an asynchronous
/// channel must not be dropped, or NIO ends the process. So they are closed here.
private final class AcceptedClient: Sendable {
    let peer: ControlShares.Peer
    private let client: Mutex<HTTP1Channel.Value?>
    /// Given back when this is: its server keeps it as long as the connection lasts.
    private let place: ControlShares.Place?

    init(_ client: HTTP1Channel.Value, _ peer: ControlShares.Peer, _ place: ControlShares.Place) {
        self.client = Mutex(client)
        self.peer = peer
        self.place = place
    }

    /// One that was turned away: there is nothing to serve.
    init() {
        client = Mutex(nil)
        peer = .user(nil)
        place = nil
    }

    /// The client, once.
    func take() -> HTTP1Channel.Value? {
        client.withLock { $0.take() }
    }

    deinit {
        guard let client = take() else { return }
        // Nobody is left to wait for it.
        Task { try? await client.executeThenClose { _, _ in } }
    }
}
