// Fault rules asked for while the observers, which know the apps' names, are behind the traffic.

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

@Suite("Fault rules that are asked for")
struct FaultHandlersTests {
    @Test(
        "a rule takes the next message of an app whose registration the observers have yet to see")
    func newcomer() async throws {
        try await FakeAccessory.run { accessory in
            var configuration = RelayConfiguration()
            configuration.farewellTimeout = .milliseconds(10)
            let relay = try await Relay.start(
                on: MultiThreadedEventLoopGroup.singleton.next(), configuration: configuration,
                accessoryAddress: "tcp:127.0.0.1:\(accessory.port)", logger: ControlTestServer.quiet
            )
            _ = try await ClientBootstrap(group: relay.loop)
                .channelInitializer { relay.configureLink($0) }
                .connect(host: "127.0.0.1", port: accessory.port).get()
            let headUnit = try await accessory.nextLink()
            let listener = try await AppListener.open(
                [ListenAddress(host: "127.0.0.1", port: 0)], for: relay)
            let app = try await FramePeer.connect(port: listener.addresses.first?.port ?? 0)
            try await app.send(.startService())
            try await headUnit.grant(session: 1)
            #expect(try await app.next().controlType == .startServiceACK)
            let registration = Frame.rpc(
                session: 1, message: 2, .request, .registerAppInterface, correlation: 2,
                json: #"{"appName":"Radio","appID":"1"}"#)
            try await app.send(registration)
            try await headUnit.answer(try await headUnit.next())
            #expect(try await app.next().rpcHeader?.type == .response)

            let facts = SessionFacts()
            let handlers = FaultHandlers(
                relay, facts: facts, address: { "tcp:" }, reopen: { _ in })
            let request = FaultRequest(rules: [
                FaultRuleRequest(filter: "app:radio rpc:Show", action: "drop")
            ])
            // Has asked what the observers know when this returns.
            let added = Task.immediate { try await handlers.add(request, Self.context) }
            let observers = Task {
                var decoder = TrafficDecoder()
                while let items = await relay.tapQueue.nextBatch() {
                    var entries: [TrafficEntry] = []
                    for item in items { decoder.receive(item, into: &entries) }
                    facts.consume(entries)
                }
            }
            #expect(try await added.value.rules.count == 1)
            try await app.send(.rpc(session: 1, message: 3, .request, .show, correlation: 3))
            let last = Frame.rpc(session: 1, message: 4, .request, .alert, correlation: 4)
            try await app.send(last)
            #expect(try await headUnit.next() == last)
            #expect(try await relay.faults()?.rules.map(\.hits) == [1])

            await listener.close()
            await relay.shutDown()
            _ = await observers.value
        }
    }

    private static var context: RouteContext {
        RouteContext(
            parameters: [:], gate: .unixSocket(DashboardToken()),
            shares: ControlShares(
                .init(Config.Control()), owner: 0, overflow: ControlOverflow()),
            peer: .user(0), logger: ControlTestServer.quiet, drive: DriveSwitch(true),
            driver: "a test")
    }
}
