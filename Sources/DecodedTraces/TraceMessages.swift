import MessageFilters
import RelayCore
package import SDLTraffic
package import Traces

/// The messages of a trace that a filter accepts, with the notes recorded between them, in order: the
/// counterpart of relayd's stream for `relayctl tail`.
package struct TraceMessages {
    package enum Event: Sendable {
        case message(TrafficEntry)
        case note(TraceNote)
    }

    private var decoding = TraceDecoding()
    private let filter: MessageFilter
    /// Finds the request of an answer, and the entries before it.
    private let ring = MessageRing(maximumBytes: MessageRing.defaultMaximumBytes)
    private var cursor: UInt64 = 0
    private var decoded: [TrafficEntry] = []
    /// Names of the apps that are connected.
    private var names: [AppID: String] = [:]
    /// Whether the latest message was shown: advice follows the message that it concerns.
    private var isShowing = true

    /// Messages that are processed together.
    private static let batch = 64
    private static let maximumNames = 4096

    package init(_ filter: MessageFilter) {
        self.filter = filter
    }

    /// The events to show after this entry.
    package mutating func receive(_ entry: TraceEntry) -> [Event] {
        if var note = TraceNote(entry, name: nil) {
            var events = flush()
            note.appName = note.app.flatMap { names[$0] }
            if isWanted(note) { events.append(.note(note)) }
            return events
        }
        decoding.receive(entry, into: &decoded)
        return decoded.count < Self.batch ? [] : flush()
    }

    /// The remaining events at the end.
    package mutating func finish() -> [Event] {
        decoding.finish(into: &decoded)
        return flush()
    }

    private mutating func flush() -> [Event] {
        guard !decoded.isEmpty else { return [] }
        for entry in decoded { learn(entry) }
        let latest = decoded.last?.number ?? cursor
        ring.consume(decoded)
        decoded = []
        var shown: [TrafficEntry] = []
        while true {
            let reading = ring.messages(after: cursor, matching: filter, limit: Self.batch)
            shown += reading.entries
            cursor = reading.next
            if reading.isAtEnd { break }
        }
        cursor = max(cursor, latest)
        isShowing = shown.last?.number == latest
        return shown.map { .message($0) }
    }

    private mutating func learn(_ entry: TrafficEntry) {
        guard let app = entry.app else { return }
        if case .event(.appClosed) = entry.content {
            names[app] = nil
        } else if let name = entry.appName, names.count < Self.maximumNames {
            names[app] = name
        }
    }

    private func isWanted(_ note: TraceNote) -> Bool {
        if note.isAdvice, isShowing { return true }
        guard filter.kinds.isEmpty || filter.kinds.contains("event"),
            note.priority >= filter.traffic.minimumPriority
        else { return false }
        return filter.expression.isEverything || filter.expression.accepts(note) == true
    }
}
