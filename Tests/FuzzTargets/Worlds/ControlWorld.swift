// A connection to the control API without a socket, a thread or a clock of its own: its pipeline is embedded,
// and work for the client runs when the fuzz target says so.

import AccessoryLinks
import ControlAPI
import Logging
import NIOCore
import NIOEmbedded
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic

@testable import relayd

/// One client of a relayd that has one app and five messages to report.
final class ControlWorld {
    /// The four ways in: the Unix socket, as root and as a user that cannot be named; the port, where reading
    /// is free and where it is not.
    static let doors = 4
    private static let placeholder = Array("$token".utf8)
    static let token = Array((dashboard.report.token ?? "").utf8)

    private(set) var mayTellToken: Bool
    private let loop = EmbeddedEventLoop()
    private let executor = SteppedExecutor()
    private let connection = HalfClosingHandler()
    private let channel: EmbeddedChannel
    private let clients: ControlClients
    private let peer: ControlShares.Peer

    init(
        _ number: Int,
        status: @escaping @Sendable () async -> StatusSnapshot = { ControlWorld.status }
    ) throws {
        let isRoot = number & 3 == 0
        let isPort = number & 1 == 1
        mayTellToken = isRoot
        peer = isPort ? .address("127.0.0.1") : .user(isRoot ? 0 : nil)
        channel = EmbeddedChannel(handler: connection, loop: loop)
        let messages = MessageHandlers(ring: Self.ring, timers: loop)
        let apps = AppHandlers(knowingNothingBut: { Self.status })
        let writes = WriteHandlers(apps: apps.apps, actions: .none, log: .none)
        let driving = DriveHandlers(nil, status: status, validator: nil)
        let drive = DriveSwitch(true)
        let handlers = ControlHandlers(
            status: status, apps: apps,
            messages: messages, events: EventHandlers(ring: Self.events, timers: loop),
            reports: ReportHandlers(status: { Self.status }), writes: writes,
            specification: SpecificationHandlers(.builtIn()),
            devices: DeviceHandlers { DeviceList() }, records: .none, vehicle: .none,
            driving: driving, faults: .none,
            scenarios: ScenarioHandlers(
                status: status, apps: apps, messages: messages, writes: writes, driving: driving,
                faults: .none, drive: drive, events: Self.events, executor: executor),
            drive: drive,
            dashboard: Self.dashboard)
        let endpoint = ControlEndpoint(
            kind: isPort ? .port : .unixSocket(Self.policy), gate: Self.gates[number & 3],
            // A limit of one each, so that a place that is not returned is noticed.
            shares: ControlShares(
                .init(
                    connections: 1, reservedConnections: 0, connectionsOfPeer: 1, streamsOfPeer: 1,
                    reservedStreams: 0),
                owner: 0, overflow: ControlOverflow()),
            identify: { _ in isRoot ? ControlPeer(pid: 1, uid: 0, groups: []) : nil })
        clients = ControlClients(
            endpoint: endpoint, responder: ControlResponder(handlers), logger: Self.quiet)
    }

    // MARK: The conversation

    /// Returns everything the server sends in answer to these bytes, with the token for "$token", until nothing
    /// more will happen.
    ///
    /// - Parameter late: Runs when the server no longer waits for the rest of a request.
    /// - Throws: `BrokenPromise` when something of the client is left after it has gone.
    func exchange(_ bytes: some Collection<UInt8>, late: () -> Void = {}) throws -> [UInt8] {
        var request = Array(bytes)
        if let place = request.firstRange(of: Self.placeholder) {
            request.replaceSubrange(place, with: Self.token)
            // The client has the token already.
            mayTellToken = true
        }
        loop.advanceTime(to: .now())
        let isServed = try serve()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 40112), promise: nil)
        settle()
        // A handler's error has already reached the handlers behind it.
        _ = try? channel.writeInbound(ByteBuffer(bytes: request))
        settle()
        connection.stopSending(channel)
        settle()
        // Long enough for a stream to send a sign of life, and for the wait for the rest of a request to end.
        loop.advanceTime(by: .seconds(30))
        settle()
        late()
        settle()
        let answer = try said()
        if channel.isActive { channel.close(promise: nil) }
        settle()
        try ensure(isServed.isSet, "a client that has left is still served")
        try ensure(!connection.hasSpokenTooLate, "it speaks after the end of its answer")
        try ensure(
            (try? clients.endpoint.shares.connect(peer)) != nil,
            "a place for a connection is not given back")
        do {
            _ = try clients.endpoint.shares.stream(peer, isPrivileged: false)
        } catch {
            throw BrokenPromise("a place for a stream is not given back")
        }
        return answer
    }

    /// Begins to serve; the returned flag becomes true at the end.
    private func serve() throws -> Flag {
        let accepted = try clients.accept(channel, from: peer).wait()
        let isServed = Flag()
        Task(executorPreference: executor) { [clients] in
            await clients.serve(accepted)
            isServed.set()
        }
        return isServed
    }

    /// Runs all jobs until everything waits.
    private func settle() {
        repeat {
            executor.run()
            loop.run()
        } while executor.hasJobs
    }

    private func said() throws -> [UInt8] {
        var answer: [UInt8] = []
        while let part = try channel.readOutbound(as: IOData.self) {
            if case .byteBuffer(let bytes) = part { answer += bytes.readableBytesView }
        }
        return answer
    }
}

// MARK: - Contents

extension ControlWorld {
    fileprivate static let quiet = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
    fileprivate static let policy = WritePolicy(owner: 0, group: nil, isReadOnlyForOthers: true)
    fileprivate static let dashboard = DashboardEndpoint(Config.Dashboard(), logger: quiet)

    fileprivate static let gates: [RequestGate] = {
        let token = dashboard.gate.token
        return [
            .unixSocket(token), .port(.named("127.0.0.1"), token, readsNeedToken: false),
            .unixSocket(token), .port(.anyAddress, token, readsNeedToken: true),
        ]
    }()

    static let status = StatusSnapshot.oneApp

    fileprivate static let events: EventRing = {
        let ring = EventRing(instance: "fuzz")
        ring.add(
            .control, "the configuration was read again",
            at: WallTime(nanoseconds: 1_795_257_067_000_000_000))
        return ring
    }()

    fileprivate static let ring: MessageRing = {
        let ring = MessageRing()
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        let time = WallTime(nanoseconds: 1_795_257_067_000_000_000)
        let frames = (1...5).map { number in
            Frame.rpc(
                version: 5, sessionID: 1, messageID: number, type: .request, functionID: 13,
                correlationID: Int32(number), json: #"{"mainField1":"\u001b[31m \ud800"}"#)
        }
        decoder.receive(
            .frames(
                frames.map {
                    TappedFrame(
                        frame: $0, direction: .fromApp, app: AppID(rawValue: 1), time: time)
                }), into: &entries)
        ring.consume(entries)
        return ring
    }()
}
