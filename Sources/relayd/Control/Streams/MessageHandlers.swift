import ControlAPI
import NIOCore
import NIOHTTP1
import NIOPosix
import SDLProtocol
import SDLTraffic

/// Answers requests about messages: lists, the stream, one complete message.
package struct MessageHandlers: Sendable {
    let ring: MessageRing
    /// Interval of the heartbeat on an idle stream: twice within the half minute after which proxies
    /// and people give up on a silent connection.
    var heartbeat = TimeAmount.seconds(15)
    /// Runs the timers of the streams.
    var timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    /// Waits until the observers have caught up with the traffic, with a time limit.
    var catchUp: @Sendable () async -> Void = {}
    /// The advice about the messages after one number, up to and including another, in their order.
    var advice: @Sendable (_ after: UInt64, _ through: UInt64) -> [Advice] = { _, _ in [] }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.messages) { request, _ in try await list(request) }
        routes.get(Routes.messageStream) { request, context in
            try await stream(request, context)
        }
        routes.get(Routes.message) { _, context in
            try message(context.segment("n"))
        }
    }

    // MARK: Several

    private func list(_ request: ControlRequest) async throws -> ControlResponse {
        try refuseIfOff()
        let wanted = try MessageRequest(request, for: .list)
        await catchUp()
        var reading: MessageRing.Reading
        if let after = wanted.cursor.number(in: ring.instance) {
            reading = MessageRing.Reading(next: after)
            while ring.read(
                on: &reading, matching: wanted.filter, limit: wanted.limit,
                looks: MessageStream.looks)
            {
                await Task.yield()
            }
        } else {
            var look = LookBack(ring, wanted.limit, matching: wanted.filter)
            while look.step() { await Task.yield() }
            reading = look.reading
        }
        return ControlResponse(
            .ok, .ofMoment("application/json; charset=utf-8"),
            body: MessageList(
                instance: ring.instance, range: ring.range, reading: reading, request: wanted
            ).body)
    }

    func stream(
        _ request: ControlRequest, _ context: RouteContext
    ) async throws -> ControlResponse {
        try refuseIfOff()
        let wanted = try MessageRequest(request, for: .stream)
        let place = try context.streamPlace(request)
        let framing = StreamFraming(request)
        let asked = wanted.cursor.number(in: ring.instance)
        // Before the answer: from its first byte on, the client may rely on getting what comes.
        let start: UInt64
        if let asked { start = asked } else { start = await MessageStream.start(wanted, in: ring) }
        let stream = MessageStream(
            ring: ring, request: wanted, asked: asked, start: start, framing: framing,
            pause: StreamPause(heartbeat: heartbeat, timers: timers),
            advice: advice)
        return ControlResponse(
            .ok, .ofMoment(framing.contentType),
            body: .pieces { writer in
                defer { withExtendedLifetime(place) {} }
                try await stream.run(writer)
            })
    }

    // MARK: One

    private func message(_ text: String) throws -> ControlResponse {
        try refuseIfOff()
        guard let number = UInt64(text), number > 0 else {
            let shown = PrintableText.string(text, limit: 40)
            throw APIError(
                .badRequest,
                "\"\(shown)\" is not a message; expected its number, as in /v1/messages/17")
        }
        guard let entry = ring.message(number) else {
            throw APIError(.notFound, whyNot(number))
        }
        return ControlResponse(
            .ok, .ofMoment("application/json; charset=utf-8"), body: .whole(whole(entry)))
    }

    private func whyNot(_ number: UInt64) -> String {
        guard let range = ring.range else {
            return "message \(number) has not happened yet; there is none so far"
        }
        guard number < range.lowerBound else {
            return "message \(number) has not happened yet; the latest is \(range.upperBound)"
        }
        return """
            message \(number) is not kept any more; relayd holds \(range.lowerBound) to \
            \(range.upperBound) (limits.ring is \(Quantity.text(bytes: ring.maximumBytes)))
            """
    }

    /// The message, the kind of its bulk data, and the message it belongs to.
    private func whole(_ entry: TrafficEntry) -> ByteBuffer {
        var formatter = MessageFormatter(.json)
        var body = ByteBuffer(
            string: "{\"schema\":1,\"instance\":\"\(ring.instance)\",\n\"message\":")
        formatter.append(entry, to: &body)
        if case .rpc(let rpc) = entry.content {
            if rpc.message.bulkBytes > 0 {
                let kind = rpc.bulk?.name.map { ",\"kind\":\"\($0)\"" } ?? ""
                body.writeString(",\n\"bulk\":{\"bytes\":\(rpc.message.bulkBytes)\(kind)}")
            }
            if let request = rpc.request.flatMap({ ring.message($0.number) }) {
                body.writeString(",\n\"request\":")
                formatter.append(request, to: &body)
            }
            if rpc.message.type == .request, let response = ring.response(to: entry.number) {
                body.writeString(",\n\"response\":")
                formatter.append(response, to: &body)
            }
        }
        body.writeString("}\n")
        return body
    }

    // MARK: Pieces

    func refuseIfOff() throws(APIError) {
        guard ring.isOff else { return }
        throw APIError(
            .ringOff,
            "relayd keeps no messages: limits.ring is 0; set it to 16 MiB or so and restart it")
    }
}
