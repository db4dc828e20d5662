// Messages on their way to one client of the control API: a list that ends, a stream that goes on.
// Made by `MessageHandlers` for each request.

import ControlAPI
import Hummingbird
import NIOCore
import RelayCore
import ServiceLifecycle

// What takes Hummingbird's writer is `@concurrent`, as the writer's own methods are.

/// Lines for one client, collected to pieces worth a write.
///
/// A write waits until the client has taken most of what was written before, so at most one piece
/// and the buffers of the connection are filled for a client that does not read.
private struct MessageLines {
    /// Bytes of a piece: what the socket's buffer takes at once.
    private static let pieceBytes = 64 << 10

    private var formatter: MessageFormatter
    private var piece = ByteBuffer()

    init(_ request: MessageRequest) {
        formatter = MessageFormatter(request.content, hasColours: request.hasColours)
    }

    var isEmpty: Bool { piece.readableBytes == 0 }

    @concurrent
    mutating func append(
        _ entry: TrafficEntry, before separator: String, to writer: inout any ResponseBodyWriter
    ) async throws {
        formatter.append(entry, to: &piece)
        piece.writeString(separator)
        if piece.readableBytes >= Self.pieceBytes { try await flush(to: &writer) }
    }

    mutating func append(_ text: String) {
        piece.writeString(text)
    }

    mutating func append(_ note: MessageStreamNote) {
        piece.writeString(note.line)
    }

    @concurrent
    mutating func flush(to writer: inout any ResponseBodyWriter) async throws {
        guard !isEmpty else { return }
        let full = piece
        piece = ByteBuffer()
        try await writer.write(full)
    }
}

/// The answer to `Routes.messages`.
struct MessageList: Sendable {
    let ring: MessageRing
    let reading: MessageRing.Reading
    let request: MessageRequest

    /// One message per line, so that `grep` works on it.
    var body: ResponseBody {
        let range = ring.range
        return ResponseBody { [self] writer in
            var lines = MessageLines(request)
            lines.append("{\"instance\":\"\(ring.instance)\",")
            if let range {
                lines.append("\"first\":\(range.lowerBound),\"latest\":\(range.upperBound),")
            }
            lines.append("\"missed\":\(reading.missed),\"next\":\(reading.next),\"messages\":[\n")
            for (index, entry) in reading.entries.enumerated() {
                let isLast = index == reading.entries.count - 1
                try await lines.append(entry, before: isLast ? "\n" : ",\n", to: &writer)
            }
            lines.append("]}\n")
            try await lines.flush(to: &writer)
            try await writer.finish(nil)
        }
    }
}

/// The answer to `Routes.messageStream`: what was, then what comes, until the client leaves or
/// relayd stops.
struct MessageStream: Sendable {
    let ring: MessageRing
    let request: MessageRequest
    /// Cursor to begin after; nil to begin where the request says.
    let start: UInt64?
    let heartbeat: TimeAmount
    let timers: any EventLoop

    /// Entries looked at before they are written: what a client that does not read keeps alive.
    private static let entriesPerLook = 64
    /// Time between looks while messages come in a row. What a person sees as one is one write
    /// then; a message that comes alone is written at once.
    private static let pace = TimeAmount.milliseconds(20)

    @concurrent
    func run(_ writer: inout any ResponseBodyWriter) async throws {
        var lines = MessageLines(request)
        var filter = request.filter
        let range = ring.range
        let latestAtStart = ring.latest
        lines.append(
            MessageStreamNote(
                instance: ring.instance, first: range.map { Int($0.lowerBound) },
                latest: range.map { Int($0.upperBound) }))

        var cursor = try await begin(&lines, &writer)
        try await lines.flush(to: &writer)
        let waiter = MessageWaiter()
        var lastWrite = NIODeadline.now()
        while true {
            // What is kept when the stop comes is still written.
            let isStopping = Task.isShuttingDownGracefully || !request.follows
            let reading = ring.messages(
                after: cursor, matching: filter, limit: Self.entriesPerLook)
            cursor = reading.next
            // The time filter chose where to begin; a clock set back must not end the stream.
            if cursor >= latestAtStart { filter.since = nil }
            if reading.missed > 0 {
                lines.append(MessageStreamNote(missed: reading.missed, next: Int(cursor)))
            }
            for entry in reading.entries {
                try await lines.append(entry, before: "\n", to: &writer)
            }
            let isAtEnd = reading.entries.count < Self.entriesPerLook
            if lines.isEmpty, isAtEnd, NIODeadline.now() - lastWrite >= heartbeat {
                lines.append(MessageStreamNote(next: Int(cursor)))
            }
            if !lines.isEmpty {
                try await lines.flush(to: &writer)
                lastWrite = .now()
            }
            guard isAtEnd else { continue }
            if isStopping { return }
            try await wait(waiter, after: cursor, since: lastWrite)
        }
    }

    /// Writes the past that was asked for; returns the cursor to go on from.
    @concurrent
    private func begin(
        _ lines: inout MessageLines, _ writer: inout any ResponseBodyWriter
    ) async throws -> UInt64 {
        if let start { return start }
        if let last = request.last {
            let reading = ring.newest(last, matching: request.filter)
            for entry in reading.entries {
                try await lines.append(entry, before: "\n", to: &writer)
            }
            return reading.next
        }
        guard request.filter.since != nil else { return ring.latest }
        return (ring.range?.lowerBound ?? 1) - 1
    }

    /// Until there is something to write, a sign of life is due, or relayd stops.
    ///
    /// - Throws: When the client has left.
    private func wait(
        _ waiter: MessageWaiter, after cursor: UInt64, since lastWrite: NIODeadline
    ) async throws {
        await withGracefulShutdownHandler {
            await wait(until: .now() + Self.pace, waiter) { await waiter.wait() }
            guard !Task.isShuttingDownGracefully else { return }
            await wait(until: lastWrite + heartbeat, waiter) {
                await ring.wait(waiter, after: cursor)
            }
        } onGracefulShutdown: {
            waiter.wake()
        }
        try Task.checkCancellation()
    }

    /// Not `Task.sleep`, which would start the system's thread pool (see `LoopExecutor`).
    private func wait(
        until deadline: NIODeadline, _ waiter: MessageWaiter, _ news: () async -> Void
    ) async {
        let timer = timers.scheduleTask(deadline: deadline) { waiter.wake() }
        await news()
        timer.cancel()
    }
}

extension MessageStreamNote {
    /// Numbers and hex digits only: nothing to escape.
    fileprivate var line: String {
        var members: [String] = []
        if let instance { members.append("\"instance\":\"\(instance)\"") }
        if let first { members.append("\"first\":\(first)") }
        if let latest { members.append("\"latest\":\(latest)") }
        if let missed { members.append("\"missed\":\(missed)") }
        if let next { members.append("\"next\":\(next)") }
        return "{" + members.joined(separator: ",") + "}\n"
    }
}
