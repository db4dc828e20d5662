package import ControlAPI
package import Logging
package import NIOCore
import NIOPosix
import RelayCore
import SDLTraffic
import ServiceLifecycle

/// The control API: HTTP on the Unix socket and, for the dashboard, on a TCP port, from the first
/// listen to the last answer. `RequestGate` decides who may ask what.
///
/// The daemon creates one before anything else (it throws if another relayd is running) and runs it in
/// its service group. The sockets are bound earlier (`ControlListener`, `DashboardListener`): the
/// control socket must have its mode and group before anybody can connect. `ControlClients` handles
/// what happens on a connection.
package struct ControlServer: Service {
    package typealias Configuration = ControlListener.Configuration

    private let listener: ControlListener
    package let dashboard: DashboardEndpoint
    private let responder: ControlResponder
    private let overflow: ControlOverflow
    private let limits: (socket: ControlShares.Limits, port: ControlShares.Limits)
    private let identify: @Sendable (any Channel) async throws -> ControlPeer?
    private let endPatience: EndPatience
    private let eventLoopGroup: any EventLoopGroup
    private let executor: (any TaskExecutor)?
    private let logger: Logger

    /// Creates the socket; clients may connect from here on and are answered once `run` is called.
    ///
    /// - Parameters:
    ///   - inherited: a socket that already listens, used instead of the configured one.
    ///   - status: asked for every request; may be called concurrently.
    ///   - apps: what is known about apps; nothing if not given.
    ///   - messages: the messages kept of the traffic; none if not given.
    ///   - events: past events; none if not given.
    ///   - reports: counts and configuration; none if not given.
    ///   - actions: what clients may do.
    ///   - log: the log settings clients may change.
    ///   - devices: what is plugged in.
    ///   - records: recordings.
    ///   - vehicle: an OpenXC vehicle interface.
    ///   - driving: speaks in place of apps and the head unit; if not given, there are none.
    ///   - faults: fault rules.
    ///   - drive: whether anybody may drive the conversation.
    ///   - dashboard: the port for browsers; none if not given.
    ///   - overflow: counts how often there was no room for a client.
    ///   - limits: connections and streams of the Unix socket and of the dashboard's port.
    ///   - endPatience: the patience with clients that are being answered at shutdown.
    ///   - executor: runs the work for clients; the caller's executor if not given.
    ///   - identify: identifies the peer of a connection to the Unix socket.
    /// - Throws: `ControlListenerError` or `ControlSocketError`, written for people.
    package init(
        configuration: Configuration, inherited: CInt? = nil,
        status: @escaping @Sendable () async throws -> StatusSnapshot,
        apps: AppHandlers? = nil,
        messages: MessageHandlers? = nil,
        events: EventHandlers = EventHandlers(ring: EventRing(instance: "0")),
        reports: ReportHandlers? = nil, actions: ControlActions = .none, log: LogControl = .none,
        specification: SpecificationHandlers = SpecificationHandlers(.builtIn()),
        devices: DeviceHandlers = DeviceHandlers(), records: RecordHandlers = .none,
        vehicle: VehicleHandlers = .none, driving: DriveHandlers? = nil,
        faults: FaultHandlers = .none,
        drive: DriveSwitch = DriveSwitch(false),
        dashboard: @autoclosure () -> DashboardEndpoint? = nil,
        overflow: ControlOverflow = ControlOverflow(),
        limits: (socket: ControlShares.Limits, port: ControlShares.Limits) =
            (.init(Config.Control()), .init(Config.Dashboard())),
        identify: @escaping @Sendable (any Channel) async throws -> ControlPeer? =
            ControlPeer.of,
        endPatience: EndPatience = EndPatience(),
        eventLoopGroup: any EventLoopGroup, executor: (any TaskExecutor)? = nil, logger: Logger
    ) throws {
        self.listener =
            try inherited.map {
                ControlListener(
                    inherited: $0, isReadOnlyForOthers: configuration.isReadOnlyForOthers)
            } ?? ControlListener(configuration)
        // A second relayd has stopped by now, so it does not complain about the port as well.
        self.dashboard = dashboard() ?? .off
        self.overflow = overflow
        self.limits = limits
        self.identify = identify
        self.endPatience = endPatience
        self.eventLoopGroup = eventLoopGroup
        self.executor = executor
        self.logger = logger
        let apps = apps ?? AppHandlers(knowingNothingBut: status)
        let messages = messages ?? MessageHandlers(ring: MessageRing(maximumBytes: 0))
        let writes = WriteHandlers(apps: apps.apps, actions: actions, log: log)
        let driving = driving ?? DriveHandlers(nil, status: status, validator: nil)
        let scenarios = ScenarioHandlers(
            status: status, apps: apps, messages: messages, writes: writes, driving: driving,
            faults: faults, drive: drive, events: events.ring, executor: executor)
        drive.whenOff {
            scenarios.driveIsOff()
            driving.driveIsOff()
        }
        let handlers = ControlHandlers(
            status: status, apps: apps, messages: messages,
            events: events, reports: reports ?? ReportHandlers(status: status), writes: writes,
            specification: specification, devices: devices,
            records: records, vehicle: vehicle,
            driving: driving, faults: faults,
            scenarios: scenarios, drive: drive,
            dashboard: self.dashboard)
        self.responder = ControlResponder(handlers)
    }

    /// Path of the socket that is served.
    package var path: String { listener.path }

    /// Removes the socket's file, for a process that will not reach the end of `run`.
    package func removeSocket() { listener.remove() }

    /// Serves until cancelled or, in a service group, until graceful shutdown; removes the socket's
    /// file first.
    package func run() async throws {
        try await withTaskExecutorPreference(executor) { try await serve() }
    }

    private func serve() async throws {
        guard let descriptor = listener.takeDescriptor() else { return }
        defer { listener.remove() }
        logger.debug("control socket is \(path)")
        if listener.writePolicy.isGroupUnknown { logger.warning("\(WritePolicy.hint)") }
        let owner = listener.writePolicy.owner
        let socket = ControlEndpoint(
            kind: .unixSocket(listener.writePolicy), gate: .unixSocket(dashboard.gate.token),
            shares: ControlShares(limits.socket, owner: owner, overflow: overflow),
            identify: identify)
        let port = ControlEndpoint(
            kind: .port, gate: dashboard.gate,
            shares: ControlShares(limits.port, owner: owner, overflow: overflow), identify: identify
        )
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
        on descriptor: NIOBSDSocket.Handle, _ endpoint: ControlEndpoint,
        onShutdown: @escaping @Sendable () -> Void
    ) async throws {
        let clients = ControlClients(
            endpoint: endpoint, responder: responder, endPatience: endPatience, logger: logger)
        let server = try await accept(on: descriptor, clients)
        try await withGracefulShutdownHandler {
            try await withThrowingDiscardingTaskGroup { group in
                try await server.executeThenClose { inbound in
                    for try await client in inbound {
                        group.addTask { await clients.serve(client) }
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
        on descriptor: NIOBSDSocket.Handle, _ clients: ControlClients
    ) async throws -> NIOAsyncChannel<AcceptedClient, Never> {
        let (logger, overflow) = (logger, overflow)
        return try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // NIO has set a backlog of its own, 128.
                    _ = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                        of: NIOBSDSocket.Handle.self
                    ) { ControlListener.listen(on: $0) }
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptGuard {
                            logger.debug("a client has to wait: \($0)")
                        })
                    try channel.pipeline.syncOperations.addHandler(
                        ControlPlaces(
                            clients.endpoint.shares.limits.all, overflow: overflow, logger: logger))
                }
            }
            // A client may shut its sending side after the request, as `nc -N` does.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(descriptor) { channel in
                clients.accept(channel, from: clients.endpoint.peer(of: channel))
            }
    }
}
