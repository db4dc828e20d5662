import NIOCore
import RelayCore
import SDLProtocol
import Synchronization

/// Keeps the latest entries, bounded by bytes; new entries replace the oldest. Fed by `TrafficObserver`, read
/// by the control API.
///
/// Entries are kept as they were decoded, in storage of their own, and turned into text only when read:
/// keeping an entry costs less than formatting it, and most are never read. Nothing is allocated before there
/// is something to keep.
///
/// A reader holds a cursor, the number of the last entry it has seen. The ring does not wait for readers: one
/// that is overtaken is told how many entries it missed.
package final class MessageRing: TrafficConsumer {
    /// Distinguishes the numbers of this run of relayd from those of another: 16 random hex digits.
    package let instance: String
    /// Bytes kept at most; 0 keeps nothing.
    package let maximumBytes: Int

    /// Some thousand messages of a normal bench, or the last minutes of a busy one.
    package static let defaultMaximumBytes = 16 << 20

    private let state = Mutex(State())
    package let readers = WaitingReaders()
    /// Used only when entries are added.
    private let recent = Mutex(RecentDocuments())
    /// Parameters of one message that have more bytes are not kept.
    private let maximumMessageBytes: Int
    /// Size of the segments that are kept and dropped as a whole.
    private let segmentBytes: Int

    /// Maximum entries of a segment, which are dropped together.
    private static let segmentEntries = 64
    /// Segments examined while the lock is held.
    static let segmentsPerLook = 256

    package init(maximumBytes: Int = defaultMaximumBytes) {
        self.maximumBytes = max(0, maximumBytes)
        instance = UInt64.random(in: .min ... .max).hexDigits
        // One huge message must not displace everything else.
        maximumMessageBytes = self.maximumBytes / 4
        segmentBytes = max(1, self.maximumBytes / 64)
    }

    package var isOff: Bool { maximumBytes == 0 }

    /// Entries of a batch, kept and dropped as a whole.
    struct Segment: Sendable {
        var entries: [TrafficEntry] = []
        var bytes = 0

        var last: UInt64 { entries.last?.number ?? 0 }
    }

    fileprivate struct State {
        var segments = CircularBuffer<Segment>()
        var bytes = 0
        /// Number of the latest entry ever seen; 0 before the first.
        var latest: UInt64 = 0
        /// Number of the latest entry dropped.
        var evicted: UInt64 = 0
    }

    // MARK: Keeping

    /// Keeps the entries; takes some hundred nanoseconds for each.
    package func consume(_ entries: [TrafficEntry]) {
        guard !isOff, let latest = entries.last?.number else { return }
        let segments = recent.withLock { recent in self.segments(of: entries, sharing: &recent) }
        let given = state.withLock { state in
            for segment in segments {
                state.segments.append(segment)
                state.bytes += segment.bytes
            }
            state.latest = latest
            var given: [Segment] = []
            while state.bytes > maximumBytes, let oldest = state.segments.popFirst() {
                state.bytes -= oldest.bytes
                state.evicted = oldest.last
                given.append(oldest)
            }
            return given
        }
        readers.wake()
        // The dropped segments are freed here, not under the lock.
        withExtendedLifetime(given) {}
    }

    private func segments(
        of entries: [TrafficEntry], sharing recent: inout RecentDocuments
    ) -> [Segment] {
        var segments: [Segment] = []
        var segment = Segment()
        segment.entries.reserveCapacity(min(entries.count, Self.segmentEntries))
        for entry in entries where entry.isForPeople {
            let kept = entry.detached(maximumBytes: maximumMessageBytes, sharing: &recent)
            segment.entries.append(kept)
            segment.bytes += kept.footprint
            if segment.entries.count == Self.segmentEntries || segment.bytes >= segmentBytes {
                segments.append(segment)
                segment = Segment()
            }
        }
        if !segment.entries.isEmpty { segments.append(segment) }
        return segments
    }

    // MARK: Reading

    /// Numbers of the entries that are kept; nil when there are none.
    package var range: ClosedRange<UInt64>? {
        state.withLock { state in
            guard let first = state.segments.first?.entries.first?.number else { return nil }
            return first...state.latest
        }
    }

    /// Number of the latest entry, kept or not; 0 before the first.
    package var latest: UInt64 { state.withLock { $0.latest } }

    /// The entries and bytes kept right now.
    package var usage: (entries: Int, bytes: Int) {
        state.withLock { state in
            (state.segments.reduce(0) { $0 + $1.entries.count }, state.bytes)
        }
    }

    /// A part of the kept entries, and where to continue.
    package struct Reading: Sendable {
        /// In order.
        package var entries: [TrafficEntry]
        /// The cursor to continue from: number of the last entry examined, shown or not.
        package var next: UInt64
        /// Entries between the cursor and the first one that is still kept, of any kind.
        package var missed: Int
        /// Whether these were the last entries.
        package var isAtEnd = false

        package init(entries: [TrafficEntry] = [], next: UInt64, missed: Int = 0) {
            (self.entries, self.next, self.missed) = (entries, next, missed)
        }
    }

    /// The oldest `limit` entries after `cursor` that the filter accepts. A request that is accepted because
    /// of its answer comes right before that, whatever lies between them.
    ///
    /// A cursor beyond the latest entry comes from another run of relayd: then reading begins at the oldest
    /// entry.
    ///
    /// - Parameter looks: Maximum entries to examine; an expensive filter takes its time for each.
    package func messages(
        after cursor: UInt64, matching filter: MessageFilter = .everything, limit: Int,
        looks: Int = .max
    ) -> Reading {
        var reading = Reading(next: cursor)
        _ = read(on: &reading, matching: filter, limit: limit, looks: looks)
        return reading
    }

    /// Continues a reading that has used up its looks, or begins one.
    ///
    /// - Parameters:
    ///   - limit: Maximum entries of the whole reading.
    ///   - looks: Maximum entries to examine in this call.
    /// - Returns: Whether there is more to examine: the reading is neither full nor at the end.
    package func read(
        on reading: inout Reading, matching filter: MessageFilter, limit: Int, looks: Int
    ) -> Bool {
        var looks = looks
        while true {
            let segments = segments(after: &reading)
            guard !segments.isEmpty else {
                reading.isAtEnd = true
                return false
            }
            for segment in segments {
                for entry in segment.entries where entry.number > reading.next {
                    guard looks > 0 else { return true }
                    looks -= 1
                    let found = found(entry, matching: filter, limit: limit)
                    if found.count > 0 {
                        guard reading.entries.count + found.count <= limit else { return false }
                        if let request = found.request { reading.entries.append(request) }
                        if found.isAccepted { reading.entries.append(entry) }
                    }
                    reading.next = entry.number
                }
            }
        }
    }

    /// The parts to show of an entry and its request.
    struct Found {
        var request: TrafficEntry?
        var isAccepted: Bool

        var count: Int { (request == nil ? 0 : 1) + (isAccepted ? 1 : 0) }
    }

    func found(
        _ entry: TrafficEntry, matching filter: MessageFilter, limit: Int
    ) -> Found {
        var found = Found(
            request: filter.request(before: entry, in: self),
            isAccepted: filter.accepts(entry, in: self))
        // If there is room for one only, it is the answer.
        if found.count > max(1, limit) { found.request = nil }
        return found
    }

    /// Some segments with entries after `reading.next`, which moves forward if those entries have been
    /// dropped.
    private func segments(after reading: inout Reading) -> [Segment] {
        let (segments, cursor) = state.withLock { state in
            let cursor = RingCursor(
                after: reading.next, evicted: state.evicted, latest: state.latest)
            let index = state.index(after: cursor.number)
            return (Array(state.segments[index...].prefix(Self.segmentsPerLook)), cursor)
        }
        reading.missed += Int(clamping: cursor.missed)
        reading.next = cursor.number
        return segments
    }

    /// The last segments whose entries have numbers below `end`, so few that writers do not wait long for the
    /// lock.
    func segments(before end: UInt64) -> (segments: [Segment], latest: UInt64) {
        state.withLock { state in
            let index = end > 0 ? state.index(after: end - 1) : state.segments.startIndex
            let older = state.segments[..<index]
            return (Array(older.suffix(Self.segmentsPerLook)), state.latest)
        }
    }

    /// The entry with this number, if it is still kept.
    package func message(_ number: UInt64) -> TrafficEntry? {
        guard number > 0 else { return nil }
        let segment = state.withLock { state -> Segment? in
            let index = state.index(after: number - 1)
            return index < state.segments.endIndex ? state.segments[index] : nil
        }
        return segment?.entries.first { $0.number == number }
    }

    /// The response to the request with this number, if it came and is still kept.
    package func response(to request: UInt64) -> TrafficEntry? {
        var cursor = request
        while true {
            var reading = Reading(entries: [], next: cursor, missed: 0)
            let segments = segments(after: &reading)
            guard let last = segments.last?.last, last > cursor else { return nil }
            for segment in segments {
                for entry in segment.entries where entry.number > request {
                    guard case .rpc(let rpc) = entry.content, rpc.request?.number == request else {
                        continue
                    }
                    return entry
                }
            }
            cursor = last
        }
    }

    // MARK: Following

    /// Returns when there is an entry after `cursor`, the waiter is woken, or the task is cancelled.
    package func wait(_ waiter: Waiter, after cursor: UInt64) async {
        await readers.wait(waiter) { latest > cursor }
    }
}

extension MessageRing.State {
    /// Index of the first segment that holds an entry with a number greater than `cursor`.
    fileprivate func index(after cursor: UInt64) -> CircularBuffer<MessageRing.Segment>.Index {
        var (low, high) = (0, segments.count)
        while low < high {
            let middle = (low + high) / 2
            if segments[offset: middle].last > cursor { high = middle } else { low = middle + 1 }
        }
        return segments.index(segments.startIndex, offsetBy: low)
    }
}
