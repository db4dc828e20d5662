// Messages on their way to one client of the control API: a list that ends, or a stream that
// continues. Created by `MessageHandlers` for each request.

import ControlAPI
import NIOCore
import SDLTraffic

/// Lines for one client, collected into pieces worth a write.
///
/// A write waits until the client has taken most of the previous data, so a client that does not
/// read occupies at most one piece and the buffers of its connection.
private struct MessageLines {
    /// Bytes of a piece: what the socket's buffer takes at once.
    private static let pieceBytes = 64 << 10

    private var formatter: MessageFormatter
    private let framing: StreamFraming
    private let instance: String
    private var piece = ByteBuffer()
    /// The cursor for a reader that reconnects: a request may come after later messages, right before
    /// its answer.
    private var greatest: UInt64 = 0

    init(_ request: MessageRequest, _ framing: StreamFraming = .lines, instance: String) {
        formatter = MessageFormatter(request.content, hasColours: request.hasColours)
        self.framing = framing
        self.instance = instance
    }

    var isEmpty: Bool { piece.readableBytes == 0 }

    /// - Parameter separator: The text after the message; nil for the end of a line of the stream.
    mutating func append(
        _ entry: TrafficEntry, before separator: String? = nil,
        to writer: ResponseWriter
    ) async throws {
        greatest = max(greatest, entry.number)
        if framing != .lines { piece.writeString(framing.prefix(instance, greatest)) }
        formatter.append(entry, to: &piece)
        piece.writeString(separator ?? framing.suffix)
        if piece.readableBytes >= Self.pieceBytes { try await flush(to: writer) }
    }

    mutating func append(_ text: String) {
        piece.writeString(text)
    }

    /// - Parameter cursor: Where a reader that reconnects goes on.
    mutating func append(_ note: StreamNote, at cursor: UInt64) {
        piece.writeString(framing.note(note.json, instance, next: Int(clamping: cursor)))
    }

    mutating func append(_ advice: Advice) throws {
        let note = try APICoding.encodeLine(AdviceNote(AdviceReport(advice)))
        // A reader that reconnects must not get the advice twice, even if it did not get the
        // message.
        greatest = max(greatest, advice.entry)
        piece.writeString(
            framing.note(String(decoding: note, as: UTF8.self), instance, next: Int(greatest)))
    }

    mutating func flush(to writer: ResponseWriter) async throws {
        guard !isEmpty else { return }
        let full = piece
        piece = ByteBuffer()
        try await writer.write(full)
    }
}

/// The answer to `Routes.messages` and `Routes.recordingMessages`.
struct MessageList: Sendable {
    /// Distinguishes these numbers from those of other runs and recordings.
    let instance: String
    /// The available messages.
    let range: ClosedRange<UInt64>?
    let reading: MessageRing.Reading
    let request: MessageRequest
    /// For a recording: whether no messages follow, and why, if this is not the end of the
    /// recording.
    var isAtEnd: Bool?
    var problem: String?

    init(
        instance: String, range: ClosedRange<UInt64>?, reading: MessageRing.Reading,
        request: MessageRequest
    ) {
        (self.instance, self.range) = (instance, range)
        (self.reading, self.request) = (reading, request)
    }

    /// One message per line, so that `grep` works on it.
    var body: ControlResponse.Body {
        .pieces { [self] writer in
            var lines = MessageLines(request, instance: instance)
            lines.append("{\"schema\":1,\"instance\":\"\(instance)\",")
            if let range {
                lines.append("\"first\":\(range.lowerBound),\"latest\":\(range.upperBound),")
            }
            if let isAtEnd { lines.append("\"at_end\":\(isAtEnd),") }
            if let problem {
                let text = String(decoding: try APICoding.encodeLine(problem), as: UTF8.self)
                lines.append("\"problem\":\(text),")
            }
            lines.append("\"missed\":\(reading.missed),\"next\":\(reading.next),\"messages\":[\n")
            for (index, entry) in reading.entries.enumerated() {
                let isLast = index == reading.entries.count - 1
                try await lines.append(entry, before: isLast ? "\n" : ",\n", to: writer)
            }
            lines.append("]}\n")
            try await lines.flush(to: writer)
        }
    }
}

/// The answer to `Routes.messageStream`: past messages, then new ones, until the client leaves or
/// relayd stops.
struct MessageStream: Sendable {
    let ring: MessageRing
    let request: MessageRequest
    /// The reader's own cursor; nil if it has none.
    let asked: UInt64?
    /// The cursor to begin after.
    let start: UInt64
    let framing: StreamFraming
    let pause: StreamPause
    /// See `MessageHandlers.advice`. Advice about a message is there before the ring has that
    /// message.
    let advice: @Sendable (_ after: UInt64, _ through: UInt64) -> [Advice]

    /// Entries read before they are written: as many as a client that does not read keeps in
    /// memory.
    private static let entriesPerLook = 64
    /// Entries examined before yielding: a filter may cost some 100 µs for each.
    static let looks = 256

    func run(_ writer: ResponseWriter) async throws {
        var lines = MessageLines(request, framing, instance: ring.instance)
        var filter = request.filter
        var cursor = start
        let range = ring.range
        let latestAtStart = ring.latest
        lines.append(
            StreamNote(
                instance: ring.instance, first: range.map { Int($0.lowerBound) },
                latest: range.map { Int($0.upperBound) }), at: cursor)

        // A reader's cursor beyond the latest message comes from another run of relayd.
        var advised = asked.map { $0 > ring.latest ? 0 : $0 } ?? cursor
        try await lines.flush(to: writer)
        let waiter = Waiter()
        var lastWrite = pause.now
        while true {
            // Messages in the ring at shutdown are still written.
            let isStopping = Task.isShuttingDownGracefully || !request.follows
            let latest = ring.latest
            let reading = ring.messages(
                after: cursor, matching: filter, limit: Self.entriesPerLook, looks: Self.looks)
            cursor = reading.next
            // If there were no more matches, everything up to the latest message was examined.
            let end = reading.isAtEnd ? max(latest, cursor) : cursor
            var news = advice(advised, end)[...]
            advised = max(advised, end)
            if reading.missed > 0 {
                lines.append(StreamNote(missed: reading.missed, next: Int(cursor)), at: cursor)
            }
            for entry in reading.entries {
                try append(&news, before: entry.number, matching: filter, to: &lines)
                try await lines.append(entry, to: writer)
            }
            try append(&news, before: .max, matching: filter, to: &lines)
            // The time filter only chooses where to begin; a clock set back must not end the
            // stream.
            if cursor >= latestAtStart { filter.since = nil }
            let isAtEnd = reading.isAtEnd
            if lines.isEmpty, isAtEnd, pause.now - lastWrite >= pause.heartbeat {
                lines.append(StreamNote(next: Int(cursor)), at: cursor)
            }
            // While there are more messages, only full pieces are written.
            guard isAtEnd else {
                await Task.yield()
                continue
            }
            if !lines.isEmpty {
                try await lines.flush(to: writer)
                lastWrite = pause.now
            }
            if isStopping { return }
            try await pause.wait(waiter, since: lastWrite) { [cursor] in
                await ring.wait(waiter, after: cursor)
            }
        }
    }

    /// Appends advice about messages with smaller numbers, as far as the reader wants it.
    private func append(
        _ news: inout ArraySlice<Advice>, before number: UInt64, matching filter: MessageFilter,
        to lines: inout MessageLines
    ) throws {
        while let next = news.first, next.entry < number {
            news = news.dropFirst()
            guard let entry = ring.message(next.entry),
                filter.accepts(next, about: entry, in: ring)
            else { continue }
            try lines.append(next)
        }
    }

    /// The cursor to begin after. Requested past messages are written from there like new ones,
    /// piece by piece: a client that does not read keeps no more than a piece in memory.
    static func start(_ request: MessageRequest, in ring: MessageRing) async -> UInt64 {
        if let last = request.last {
            var look = LookBack(ring, last, matching: request.filter, keepsEntries: false)
            while look.step() { await Task.yield() }
            return look.cursor
        }
        guard request.filter.since != nil else { return ring.latest }
        return (ring.range?.lowerBound ?? 1) - 1
    }
}

extension StreamNote {
    /// Numbers and hex digits only: nothing to escape.
    fileprivate var json: String {
        var members: [String] = []
        if let instance { members.append("\"instance\":\"\(instance)\"") }
        if let first { members.append("\"first\":\(first)") }
        if let latest { members.append("\"latest\":\(latest)") }
        if let missed { members.append("\"missed\":\(missed)") }
        if let next { members.append("\"next\":\(next)") }
        return "{" + members.joined(separator: ",") + "}"
    }
}
