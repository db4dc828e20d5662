import ControlAPI
import Logging
import NIOCore
import NIOPosix
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@testable import relayd

/// The drive handlers, between the test's own head unit and a switch.
struct DriveBench: Sendable {
    let relay: Relay
    let headUnit: FramePeer
    let drive = DriveSwitch(true)
    let driving: DriveHandlers
    let faults: FaultHandlers
    let context: RouteContext

    static func run(_ body: (DriveBench) async throws -> Void) async throws {
        try await FakeAccessory.run { accessory in
            var configuration = RelayConfiguration()
            configuration.farewellTimeout = .milliseconds(10)
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let relay = try await Relay.start(
                on: MultiThreadedEventLoopGroup.singleton.next(), configuration: configuration,
                accessoryAddress: "tcp:127.0.0.1:\(accessory.port)", logger: logger)
            _ = try await ClientBootstrap(group: relay.loop)
                .channelInitializer { relay.configureLink($0) }
                .connect(host: "127.0.0.1", port: accessory.port).get()
            let bench = DriveBench(relay, try await accessory.nextLink(), logger)
            do {
                // relayd's own apps have clocks.
                try await onOwnThread { try await body(bench) }
            } catch {
                await bench.headUnit.close()
                throw error
            }
            await relay.shutDown()
        }
    }

    /// A status in which the app is already known by name, so that no handler waits for it.
    private static let named = StatusSnapshot(
        relayd: StatusSnapshot.oneApp.relayd, accessory: StatusSnapshot.oneApp.accessory,
        link: StatusSnapshot.oneApp.link, server: StatusSnapshot.oneApp.server,
        apps: [
            AppStatus(
                id: 1, peer: "127.0.0.1:40112", connectedAt: Timestamp(millisecondsSince1970: 0),
                state: .registered, appName: "Radio")
        ])

    private init(_ relay: Relay, _ headUnit: FramePeer, _ logger: Logger) {
        (self.relay, self.headUnit) = (relay, headUnit)
        let driving = DriveHandlers(relay, status: { Self.named }, validator: nil)
        self.driving = driving
        faults = FaultHandlers(
            relay, facts: SessionFacts(), address: { "tcp:" }, reopen: { _ in })
        context = RouteContext(
            parameters: [:], gate: .unixSocket(DashboardToken()),
            shares: ControlShares(
                .init(Config.Control()), owner: 0, overflow: ControlOverflow()),
            peer: .user(0), logger: logger, drive: drive, driver: "a test")
        drive.whenOff { driving.driveIsOff() }
    }

    /// Answers as a head unit does, until the connection is closed.
    ///
    /// - Parameter reply: The answer to a request.
    /// - Returns: The requested functions.
    func answerAll(
        _ reply: @Sendable (Frame) -> Frame? = { $0.success }
    ) async throws -> [FunctionID] {
        try await onOwnThread { try await answerEverything(reply) }
    }

    private func answerEverything(
        _ reply: @Sendable (Frame) -> Frame?
    ) async throws -> [FunctionID] {
        var asked: [FunctionID] = []
        var sessions: UInt8 = 0
        while true {
            let frame: Frame
            do {
                frame = try await headUnit.next()
            } catch FramePeer.Failure.closed {
                return asked
            }
            if frame.controlType == .startService {
                sessions += 1
                try await headUnit.send(.startServiceACK(session: sessions))
            } else if frame.controlType == .endService {
                try await headUnit.send(.control(.endServiceACK, session: frame.sessionID))
            } else if let function = frame.function {
                asked.append(function)
                if let answer = reply(frame) { try await headUnit.send(answer) }
            }
        }
    }

    /// Registers an app; the head unit gives it this session and takes it.
    func register(_ name: String, session: UInt8) async throws {
        async let registered: Void = {
            do {
                let isNew = try await driving.register(OwnAppRequest(name: name), context).isNew
                try #require(isNew)
            } catch {
                Issue.record(error)
                // It would wait for an app that does not come.
                await headUnit.close()
                throw error
            }
        }()
        try await headUnit.grant(session: session)
        try await headUnit.answer(headUnit.next())
        try await registered
    }

    /// Has the app leave. The head unit has been asked to unregister it, and has not answered yet.
    ///
    /// - Returns: The task that waits for the app's end, and what the head unit has been asked.
    func beginToLeave(
        _ name: String
    ) async throws -> (left: Task<OwnAppReport, any Error>, goodbye: Frame) {
        let left = Task { [driving, context] in
            try await driving.register(OwnAppRequest(name: name, leave: true), context).report
        }
        return (left, try await goodbye())
    }

    /// The next request, which is an app's last.
    func goodbye() async throws -> Frame {
        let frame = try await headUnit.next()
        #expect(frame.function == .unregisterAppInterface)
        return frame
    }

    /// Lets an app go that has said goodbye.
    func letGo(_ goodbye: Frame) async throws {
        try await headUnit.answer(goodbye)
        let end = try await headUnit.next()
        #expect(end.controlType == .endService)
        try await headUnit.send(.control(.endServiceACK, session: end.sessionID))
    }

    /// Expects that the name is refused, because its app is neither there nor gone.
    func expectComingOrGoing(_ name: String, leave: Bool = false) async {
        let error = await #expect(throws: APIError.self) {
            try await driving.register(OwnAppRequest(name: name, leave: leave), context)
        }
        #expect(error?.error.code == .conflict)
        #expect(error?.error.message == "\"\(name)\" is coming or going just now; try again")
    }
}

extension Frame {
    /// The function of an RPC in a single frame.
    var function: FunctionID? {
        type == .single ? rpcHeader.map { FunctionID(rawValue: $0.functionID) } : nil
    }
}
