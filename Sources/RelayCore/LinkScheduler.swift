// Which waiting frame goes to the accessory next; used by `Switchboard` while the link is busy.

import NIOCore
import SDLProtocol

/// Frames that wait because the link takes no more at the moment.
///
/// Frames of one session keep their order, so a multi-frame message is never interleaved with
/// another of its session, which iOS units could not put together. Between sessions the more
/// important service goes first, and among equals the one that was served longest ago; a frame
/// that has waited for `agingLimit` goes before all that are younger, so nothing starves.
struct LinkScheduler<App: Hashable> {
    struct Entry {
        var frame: Frame
        /// Whose bytes they are; nil for the relay's own words.
        var app: App?
        var since: NIODeadline
    }

    /// Long enough that audio is not disturbed by bulk, short enough for a person who waits.
    static var agingLimit: TimeAmount { .milliseconds(250) }

    private struct Queue {
        var session: UInt8
        var entries = CircularBuffer<Entry>()
        /// The round in which a frame of this queue went last.
        var servedAt: UInt64 = 0
    }

    /// Queues of the sessions that wait, none of them empty.
    private var queues: [Queue] = []
    private var round: UInt64 = 0
    /// Bytes of all frames waiting.
    private(set) var waitingBytes = 0

    var isEmpty: Bool { queues.isEmpty }

    mutating func enqueue(_ frame: Frame, from app: App?, at now: NIODeadline) {
        waitingBytes += frame.wire.readableBytes
        let entry = Entry(frame: frame, app: app, since: now)
        if let index = queues.firstIndex(where: { $0.session == frame.sessionID }) {
            queues[index].entries.append(entry)
        } else {
            var queue = Queue(session: frame.sessionID)
            queue.entries.append(entry)
            queues.append(queue)
        }
    }

    mutating func next(at now: NIODeadline) -> Entry? {
        guard let index = queues.indices.min(by: { isBefore(queues[$0], queues[$1], at: now) })
        else { return nil }
        round += 1
        queues[index].servedAt = round
        let entry = queues[index].entries.removeFirst()
        if queues[index].entries.isEmpty { queues.remove(at: index) }
        waitingBytes -= entry.frame.wire.readableBytes
        return entry
    }

    private func isBefore(_ left: Queue, _ right: Queue, at now: NIODeadline) -> Bool {
        let (first, second) = (
            left.entries[left.entries.startIndex], right.entries[right.entries.startIndex]
        )
        let (aged, otherAged) = (
            now - first.since >= Self.agingLimit, now - second.since >= Self.agingLimit
        )
        if aged != otherAged { return aged }
        if aged { return first.since < second.since }
        let (rank, otherRank) = (first.frame.service.rawValue, second.frame.service.rawValue)
        if rank != otherRank { return rank < otherRank }
        return left.servedAt < right.servedAt
    }

    /// The link is gone, and all that waited for it.
    mutating func removeAll() -> [Entry] {
        defer { self = Self() }
        return queues.flatMap(\.entries)
    }
}
