import ControlAPI
import NIOCore
import OpenXCTraffic
import SDLTraffic
import ServiceLifecycle

/// The answer to `Routes.vehicleStream`: past messages, then new ones, until the client leaves or
/// relayd stops. At most one piece is kept for a client that does not read.
struct VehicleStream: Sendable {
    let traffic: VehicleTraffic
    let request: VehicleStreamRequest
    /// The cursor to begin after.
    let start: UInt64
    let framing: StreamFraming
    let pause: StreamPause

    /// Entries written at once.
    private static let entriesPerLook = 64

    func run(_ writer: ResponseWriter) async throws {
        var cursor = start
        let range = traffic.range
        let accepts = request.filter.accepts
        var piece = ByteBuffer()
        try note(
            StreamNote(
                instance: traffic.instance, first: range.map { Int(clamping: $0.lowerBound) },
                latest: range.map { Int(clamping: $0.upperBound) }), at: cursor,
            to: &piece)
        // Written at once, so that the client knows that it is being served.
        try await write(&piece, to: writer)
        let waiter = Waiter()
        var lastWrite = pause.now
        while true {
            // Entries kept at shutdown are still written.
            let isStopping = Task.isShuttingDownGracefully || !request.follows
            let reading = traffic.entries(
                after: cursor, limit: Self.entriesPerLook, matching: accepts)
            cursor = reading.next
            if reading.missed > 0 {
                try note(
                    StreamNote(
                        missed: Int(clamping: reading.missed), next: Int(clamping: cursor)),
                    at: cursor, to: &piece)
            }
            for entry in reading.entries {
                piece.writeString(framing.prefix(traffic.instance, entry.number))
                piece.writeBytes(
                    try APICoding.encodeLine(VehicleMessageReport(entry, isRaw: request.isRaw)))
                piece.writeString(framing.suffix)
            }
            let isDue = pause.now - lastWrite >= pause.heartbeat
            if piece.readableBytes == 0, reading.isAtEnd, isDue {
                try note(StreamNote(next: Int(clamping: cursor)), at: cursor, to: &piece)
            }
            if piece.readableBytes > 0 {
                try await write(&piece, to: writer)
                lastWrite = pause.now
            }
            guard reading.isAtEnd else {
                await Task.yield()
                continue
            }
            if isStopping { return }
            try await pause.wait(waiter, since: lastWrite) { [cursor] in
                await traffic.wait(waiter, after: cursor)
            }
        }
    }

    static func start(_ request: VehicleStreamRequest, in traffic: VehicleTraffic) -> UInt64 {
        if let after = request.cursor.number(in: traffic.instance) { return after }
        guard let last = request.last else { return traffic.latest }
        return traffic.cursor(before: last, matching: request.filter.accepts)
    }

    private func write(_ piece: inout ByteBuffer, to writer: ResponseWriter) async throws {
        let full = piece
        piece = ByteBuffer()
        try await writer.write(full)
    }

    private func note(_ note: StreamNote, at cursor: UInt64, to piece: inout ByteBuffer) throws {
        let json = String(decoding: try APICoding.encodeLine(note), as: UTF8.self)
        piece.writeString(framing.note(json, traffic.instance, next: Int(clamping: cursor)))
    }
}
