// What happens to calls that have just begun when `drive.enabled` is turned off.

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

@Suite("What begins while driving is turned off")
struct DriveOffTests {
    @Test("an app of relayd's own that the head unit lets wait leaves when it has registered")
    func ownApp() async throws {
        try await Bench.run { bench in
            let registered = Task {
                _ = try await bench.driving.register(OwnAppRequest(name: "Tester"), bench.context)
            }
            let start = try await bench.headUnit.next()
            #expect(start.controlType == .startService)
            bench.drive.isOn = false
            let heard = Task { try await bench.answerAll() }
            try await bench.headUnit.send(.startServiceACK(session: 1))
            let error = try await #require(throws: APIError.self) { try await registered.value }
            #expect(error.error.code == .driveOff)
            await bench.headUnit.close()
            #expect(try await heard.value == [.registerAppInterface, .unregisterAppInterface])
        }
    }

    @Test("a fault rule in a body that comes late is not added")
    func faults() async throws {
        try await Bench.run { bench in
            bench.drive.isOn = false
            let rule = FaultRuleRequest(filter: "rpc:Show", action: "drop")
            let error = await #expect(throws: APIError.self) {
                try await bench.faults.add(FaultRequest(rules: [rule]), bench.context)
            }
            #expect(error?.error.code == .driveOff)
            let rules = try await bench.relay.faults()?.rules
            #expect(rules?.isEmpty == true)
        }
    }

    @Test("an RPC in a body that comes late is not said, in nobody's place")
    func words() async throws {
        try await Bench.run { bench in
            bench.drive.isOn = false
            let sent = await #expect(throws: APIError.self) {
                try await bench.driving.send(
                    DriveRequest(rpc: "ListFiles"), as: "1", bench.context)
            }
            let injected = await #expect(throws: APIError.self) {
                try await bench.driving.inject(
                    DriveRequest(rpc: "OnHMIStatus", unchecked: true), to: "1", bench.context)
            }
            #expect(sent?.error.code == .driveOff && injected?.error.code == .driveOff)
        }
    }
}

/// The drive handlers, between the test's own head unit and a switch.
private struct Bench: Sendable {
    let relay: Relay
    let headUnit: FramePeer
    let drive = DriveSwitch(true)
    let driving: DriveHandlers
    let faults: FaultHandlers
    let context: RouteContext

    static func run(_ body: (Bench) async throws -> Void) async throws {
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
            let bench = Bench(relay, try await accessory.nextLink(), logger)
            do {
                try await body(bench)
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
    /// - Returns: The requested functions.
    func answerAll() async throws -> [FunctionID] {
        var asked: [FunctionID] = []
        while true {
            let frame: Frame
            do {
                frame = try await headUnit.next()
            } catch FramePeer.Failure.closed {
                return asked
            }
            if frame.controlType == .endService {
                try await headUnit.send(.control(.endServiceACK, session: frame.sessionID))
            } else if frame.type == .single, let header = frame.rpcHeader {
                asked.append(FunctionID(rawValue: header.functionID))
                try await headUnit.answer(frame)
            }
        }
    }
}
