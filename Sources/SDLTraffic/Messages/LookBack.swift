/// Goes through a ring from the newest entry to the oldest, until enough are accepted. Between two steps the
/// caller may yield: with an expensive filter, a full ring takes seconds.
package struct LookBack {
    private let ring: MessageRing
    private let limit: Int
    private let filter: MessageFilter
    private let keepsEntries: Bool

    /// Segments still to be searched; the last one is next.
    private var segments: [MessageRing.Segment] = []
    /// The number of the oldest entry in the segments taken from the ring so far.
    private var end = UInt64.max
    /// The number of the latest entry at the start of the search.
    private var latest: UInt64?
    private var count = 0
    private var isOver = false
    /// The newest first.
    private var entries: [TrafficEntry] = []
    /// The number at which the oldest of them is shown: its own, or that of its answer.
    private var oldest: UInt64?

    package init(
        _ ring: MessageRing, _ limit: Int, matching filter: MessageFilter,
        keepsEntries: Bool = true
    ) {
        self.ring = ring
        self.limit = limit
        self.filter = filter
        self.keepsEntries = keepsEntries
    }

    /// Searches one segment; returns false when finished.
    package mutating func step() -> Bool {
        guard !isOver, let segment = nextSegment() else { return false }
        for entry in segment.entries.reversed() {
            guard count < limit else { return stop() }
            if let since = filter.since, entry.time < since { continue }
            let found = ring.found(entry, matching: filter, limit: limit)
            guard count + found.count <= limit else { return stop() }
            if found.isAccepted { take(entry, at: entry) }
            if let request = found.request { take(request, at: entry) }
            count += found.count
        }
        return true
    }

    /// The entries found, in order.
    package var reading: MessageRing.Reading {
        MessageRing.Reading(entries: entries.reversed(), next: latest ?? 0, missed: 0)
    }

    /// The cursor before the first of the entries found.
    package var cursor: UInt64 { oldest.map { $0 - 1 } ?? latest ?? 0 }

    private mutating func nextSegment() -> MessageRing.Segment? {
        if segments.isEmpty {
            let look = ring.segments(before: end)
            latest = latest ?? look.latest
            segments = look.segments
            end = segments.first?.entries.first?.number ?? end
        }
        guard let segment = segments.popLast() else {
            isOver = true
            return nil
        }
        return segment
    }

    private mutating func take(_ entry: TrafficEntry, at shown: TrafficEntry) {
        if keepsEntries { entries.append(entry) }
        oldest = shown.number
    }

    private mutating func stop() -> Bool {
        isOver = true
        return false
    }
}
