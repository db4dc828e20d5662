// Where the streams begin: what comes after the first byte of the answer is sent, however long that byte waits
// for the client.

import ControlAPI
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import RelayTesting
import SDLTraffic
import Testing

@testable import relayd

@Suite("The streams of the control API begin where their first byte says")
struct StreamStartTests {
    @Test("messages")
    func messages() async throws {
        var feed = TrafficFeed()
        feed.tellStory()
        let handlers = MessageHandlers(ring: feed.ring)
        let answer = try await Self.slowly(handlers.stream) { feed.heartbeat() }
        let id = feed.ring.instance
        #expect(answer.hasPrefix("id: \(id)/10\nevent: note\n"), "\(answer)")
        #expect(answer.contains("\n\nid: \(id)/11\ndata: {\"n\":11,"), "\(answer)")
    }

    @Test("events")
    func events() async throws {
        let ring = EventRing(instance: "e")
        ring.add(.control, "before")
        let answer = try await Self.slowly(EventHandlers(ring: ring).stream) {
            ring.add(.control, "meanwhile")
        }
        #expect(answer.hasPrefix("id: e/1\nevent: note\n"), "\(answer)")
        #expect(answer.contains("\n\nid: e/2\ndata: "), "\(answer)")
        #expect(answer.contains("meanwhile") && !answer.contains("before"), "\(answer)")
    }

    @Test("a vehicle's messages")
    func vehicle() async throws {
        let traffic = VehicleTraffic(instance: "v")
        await traffic.take([try Self.heard(#"{"name":"odometer","value":7}"#)])
        let relay = try await Relay.start(
            on: MultiThreadedEventLoopGroup.singleton.next(), configuration: RelayConfiguration(),
            accessoryAddress: "openxc+tcp:10.0.0.1:50001", logger: ControlTestServer.quiet,
            language: { OpenXCLanguage($0, settings: OpenXCSettings(OpenXCConfiguration())) })
        let handlers = VehicleHandlers(
            .init(relay: relay, tap: VehicleTap(maximumBytes: 1 << 20), traffic: traffic)
        ) { "openxc+tcp:10.0.0.1:50001" }
        let stream: Stream = { try handlers.stream($0, $1) }
        let answer = try await Self.slowly(stream) {
            await traffic.take([try Self.heard(#"{"name":"odometer","value":8}"#)])
        }
        #expect(answer.hasPrefix("id: v/1\nevent: note\n"), "\(answer)")
        #expect(answer.contains("\n\nid: v/2\ndata: "), "\(answer)")
        #expect(answer.contains(#""value":8"#) && !answer.contains(#""value":7"#), "\(answer)")
    }

    private static func heard(_ json: String) throws -> VehicleItem {
        let bytes = Array(json.utf8)
        let message = try VehicleMessage(json: bytes.span)
        return VehicleItem(
            .heard([(message: message, destination: .all, wire: bytes[...])]), at: .now(),
            steady: .now())
    }

    private typealias Stream =
        @Sendable (ControlRequest, RouteContext) async throws -> ControlResponse

    /// The body of a stream for a client that reads nothing until `meanwhile` has happened.
    private static func slowly(
        _ stream:
            @escaping @Sendable (ControlRequest, RouteContext) async throws -> ControlResponse,
        _ meanwhile: () async throws -> Void
    ) async throws -> String {
        let channel = NIOAsyncTestingChannel()
        let connection = try await channel.testingEventLoop.executeInContext {
            try NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>(
                wrappingChannelSynchronously: channel)
        }
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "client"))
        func clientTakes(_ takes: Bool) async throws {
            channel.isWritable = takes
            try await channel.testingEventLoop.executeInContext {
                channel.pipeline.fireChannelWritabilityChanged()
            }
        }

        try await clientTakes(false)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = Task(executorPreference: LoopExecutor(loop)) {
            try await connection.executeThenClose { inbound, outbound in
                let request = ControlRequest(
                    head: HTTPRequestHead(
                        version: .http1_1, method: .GET, uri: "/?follow=0",
                        headers: ["Accept": "text/event-stream"]),
                    body: RequestBody(RequestParts(inbound), deadline: nil))
                try await ResponseWriter(outbound).write(try await stream(request, context))
            }
        }
        // The head has been written, and waits until the client takes it.
        for _ in 0..<20 { try await loop.submit {}.get() }
        try await meanwhile()
        try await clientTakes(true)
        try await answer.value

        var body = ""
        while let part = try await channel.readOutbound(as: HTTPServerResponsePart.self) {
            if case .body(.byteBuffer(let bytes)) = part { body += String(buffer: bytes) }
        }
        return body
    }

    private static var context: RouteContext {
        RouteContext(
            parameters: [:], gate: .unixSocket(DashboardToken()),
            shares: ControlShares(
                .init(Config.Control()), owner: 0, overflow: ControlOverflow()),
            peer: .user(0), logger: ControlTestServer.quiet, drive: DriveSwitch(false),
            driver: "a test")
    }
}
