package import ControlAPI
package import NIOCore
import NIOHTTP1
import NIOPosix
import SDLTraffic
import ServiceLifecycle

/// Answers requests about events: a list, the stream.
package struct EventHandlers: Sendable {
    let ring: EventRing
    private let pause: StreamPause
    private let encode: @Sendable (EventList) throws -> [UInt8]

    /// - Parameters: As in `MessageHandlers`;
    ///   - encode: encodes a list as JSON.
    package init(
        ring: EventRing, heartbeat: TimeAmount = .seconds(15),
        timers: any EventLoop = MultiThreadedEventLoopGroup.singleton.next(),
        encode: @escaping @Sendable (EventList) throws -> [UInt8] = APICoding.encode
    ) {
        self.ring = ring
        self.encode = encode
        pause = StreamPause(heartbeat: heartbeat, timers: timers)
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.events) { request, _ in
            let wanted = try EventRequest(request, for: .list)
            let reading =
                cursor(wanted).map { ring.events(after: $0, limit: wanted.limit) }
                ?? ring.newest(wanted.limit)
            let range = ring.range
            return .json(
                bytes: try encode(
                    EventList(
                        instance: ring.instance, first: range?.lowerBound,
                        latest: range?.upperBound, missed: reading.missed, next: reading.next,
                        events: reading.events)))
        }
        routes.get(Routes.eventStream) { request, context in try stream(request, context) }
    }

    func stream(_ request: ControlRequest, _ context: RouteContext) throws -> ControlResponse {
        let wanted = try EventRequest(request, for: .stream)
        let place = try context.streamPlace(request)
        let framing = StreamFraming(request)
        let stream = EventStream(
            ring: ring, request: wanted, start: start(wanted), framing: framing, pause: pause)
        return ControlResponse(
            .ok, .ofMoment(framing.contentType),
            body: .pieces { writer in
                defer { withExtendedLifetime(place) {} }
                try await stream.run(writer)
            })
    }

    /// The cursor that a stream begins after. Taken before the answer: from its first byte on, the client may
    /// rely on getting what happens.
    private func start(_ wanted: EventRequest) -> Int {
        if let cursor = cursor(wanted) { return cursor }
        let latest = ring.latest
        guard let last = wanted.last else { return latest }
        return max(
            0, latest - min(last, EventRing.defaultCapacity), (ring.range?.lowerBound ?? 1) - 1)
    }

    private func cursor(_ wanted: EventRequest) -> Int? {
        wanted.cursor.number(in: ring.instance).map { Int(clamping: $0) }
    }
}

/// The answer to `Routes.eventStream`: past events, then new ones, until the client leaves or
/// relayd stops.
private struct EventStream: Sendable {
    let ring: EventRing
    let request: EventRequest
    /// The cursor to begin after.
    let start: Int
    let framing: StreamFraming
    let pause: StreamPause

    /// Events written at once: as many as a client that does not read keeps in memory.
    private static let eventsPerLook = 64

    func run(_ writer: ResponseWriter) async throws {
        var cursor = start
        let range = ring.range
        var piece = ByteBuffer()
        try note(
            StreamNote(
                instance: ring.instance, first: range?.lowerBound, latest: range?.upperBound),
            at: cursor, to: &piece)
        let waiter = Waiter()
        var lastWrite = pause.now
        while true {
            // Events in the ring at shutdown are still written.
            let isStopping = Task.isShuttingDownGracefully || !request.follows
            let reading = ring.events(after: cursor, limit: Self.eventsPerLook)
            cursor = reading.next
            if reading.missed > 0 {
                try note(
                    StreamNote(missed: reading.missed, next: cursor), at: cursor, to: &piece)
            }
            for event in reading.events {
                piece.writeString(framing.prefix(ring.instance, event.n))
                piece.writeBytes(try APICoding.encodeLine(event))
                piece.writeString(framing.suffix)
            }
            let isAtEnd = reading.events.count < Self.eventsPerLook
            let isDue = pause.now - lastWrite >= pause.heartbeat
            if piece.readableBytes == 0, isAtEnd, isDue {
                try note(StreamNote(next: cursor), at: cursor, to: &piece)
            }
            if piece.readableBytes > 0 {
                let full = piece
                piece = ByteBuffer()
                try await writer.write(full)
                lastWrite = pause.now
            }
            guard isAtEnd else { continue }
            if isStopping { return }
            try await pause.wait(waiter, since: lastWrite) { [cursor] in
                await ring.wait(waiter, after: cursor)
            }
        }
    }

    private func note(_ note: StreamNote, at cursor: Int, to piece: inout ByteBuffer) throws {
        let json = String(decoding: try APICoding.encodeLine(note), as: UTF8.self)
        piece.writeString(framing.note(json, ring.instance, next: cursor))
    }
}
