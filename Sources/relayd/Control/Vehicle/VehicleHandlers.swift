import ControlAPI
import NIOCore
import NIOPosix
import OpenXCRelay
import OpenXCTraffic
import RelayCore

/// Answers requests about a vehicle interface, or says that the accessory is not one.
package struct VehicleHandlers: Sendable {
    /// A shared vehicle interface, and what is known about it.
    struct Source: Sendable {
        let relay: Relay
        let tap: VehicleTap
        let traffic: VehicleTraffic
    }

    /// Nil if the accessory is a head unit.
    let source: Source?
    /// The accessory's address.
    let address: @Sendable () -> String
    private let pause: StreamPause

    init(
        _ source: Source?, address: @escaping @Sendable () -> String,
        heartbeat: TimeAmount = .seconds(15),
        timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    ) {
        self.source = source
        self.address = address
        pause = StreamPause(heartbeat: heartbeat, timers: timers)
    }

    /// For a server without a relay behind it.
    package static let none = VehicleHandlers(nil) { "" }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.vehicle) { _, _ in try ControlResponse.json(try await report()) }
        routes.get(Routes.vehicleStream) { request, context in try stream(request, context) }
        addRequests(to: &routes)
    }

    /// - Parameters:
    ///   - start: Where the stream begins if the query does not say.
    ///   - owner: Owns what is switched on while the stream is open.
    func stream(
        _ request: ControlRequest, _ context: RouteContext, from start: UInt64? = nil,
        keeping owner: VehicleConversation? = nil
    ) throws -> ControlResponse {
        let source = try theSource()
        var wanted = try VehicleStreamRequest(request)
        if wanted.cursor.after == nil, wanted.last == nil { wanted.cursor.after = start }
        let place = try context.streamPlace(request)
        let framing = StreamFraming(request)
        // Before the answer: from its first byte on, the client may rely on getting what comes.
        let begin = VehicleStream.start(wanted, in: source.traffic)
        let stream = VehicleStream(
            traffic: source.traffic, request: wanted, start: begin, framing: framing,
            pause: pause)
        return ControlResponse(
            .ok, .ofMoment(framing.contentType),
            body: .pieces { writer in
                defer { withExtendedLifetime((place, owner)) {} }
                try await stream.run(writer)
            })
    }

    private func report() async throws -> VehicleReport {
        let source = try theSource()
        guard let snapshot = try await source.relay.vehicle() else { throw wrongAccessory }
        return VehicleReport(
            snapshot, source.traffic.facts, at: .now(),
            tap: (source.tap.maximumBytes, source.tap.missedMessages))
    }

    func theSource() throws(APIError) -> Source {
        guard let source else { throw wrongAccessory }
        return source
    }

    var wrongAccessory: APIError {
        APIError(
            .wrongAccessory,
            "the accessory \(address()) is an SDL head unit, and this is only known of an OpenXC vehicle "
                + "interface; expected an address such as openxc+tcp:HOST:PORT, openxc+serial:DEVICE "
                + "or usb:openxc (accessory in the configuration)")
    }
}
