// From the tap to all observers, off the hub's loop:
//
//     VehicleItem  →  VehicleTraffic  →  VehicleFacts   the latest of everything
//                                        entries        kept for streams
//                                        listeners      such as the log

import NIOCore
package import OpenXCProtocol
package import OpenXCRelay
package import RelayCore
package import SDLTraffic
import Synchronization

/// One numbered entry of the traffic.
package struct VehicleEntry: Sendable {
    package enum Content: Sendable {
        /// A message from the vehicle interface and its bytes, which are left out if the message is longer
        /// than `maximumWireBytes`.
        case heard(VehicleMessage, to: VehicleRouter<AppID>.Destination, wire: [UInt8])
        /// Sent to the vehicle interface; by nil if relayd itself wanted it.
        case sent(VehicleMessage, by: AppID?)
        /// relayd's own answer to a client.
        case answered(VehicleMessage, AppID)
        /// A message from a client that was not carried out.
        case noted(Note<AppID>)
        case linkOpened(address: String)
        case linkClosed(reason: String)
        case missed(messages: Int)
    }

    /// More than any message of firmware, whose longest has 340 bytes. A longer one from a stranger would be
    /// kept up to 4096 times.
    package static let maximumWireBytes = 512

    /// Counted from 1.
    package var number: UInt64
    package var time: WallTime
    package var content: Content
}

/// Processes entries on the thread of the observers.
package protocol VehicleConsumer: Sendable {
    func consume(_ entries: [VehicleEntry]) async
}

/// Keeps what is known of the vehicle, and the latest entries for readers. It does not wait for readers: one
/// that falls behind is told how many entries it missed.
package final class VehicleTraffic: Sendable {
    /// Entries kept: seconds of a busy link, for a reader that pauses.
    package static let maximumEntries = 4096

    /// Distinguishes the numbers of this run of relayd from those of another.
    package let instance: String
    private let consumers: [any VehicleConsumer]
    private let readers = WaitingReaders()

    fileprivate struct State {
        var facts = VehicleFacts()
        var entries = CircularBuffer<VehicleEntry>()
        var latest: UInt64 = 0
    }
    private let state = Mutex(State())

    package init(instance: String, consumers: [any VehicleConsumer] = []) {
        self.instance = instance
        self.consumers = consumers
    }

    /// Processes everything that comes, until the tap ends.
    package func run(on tap: VehicleTap) async {
        while let items = await tap.next() { await take(items) }
    }

    package func take(_ items: [VehicleItem]) async {
        let entries = state.withLock { state in
            var entries: [VehicleEntry] = []
            for item in items { state.take(item, into: &entries) }
            state.entries.append(contentsOf: entries)
            let surplus = state.entries.count - Self.maximumEntries
            if surplus > 0 { state.entries.removeFirst(surplus) }
            return entries
        }
        guard !entries.isEmpty else { return }
        readers.wake()
        for consumer in consumers { await consumer.consume(entries) }
    }

    // MARK: - Reading

    package var facts: VehicleFacts { state.withLock(\.facts) }

    /// A part of the kept entries, and where to continue.
    package struct Reading: Sendable {
        package var entries: [VehicleEntry]
        package var next: UInt64
        package var missed: UInt64
        /// Whether all kept entries have been examined.
        package var isAtEnd: Bool
    }

    package var latest: UInt64 { state.withLock(\.latest) }

    /// Numbers of the oldest and the latest entry kept.
    package var range: ClosedRange<UInt64>? {
        state.withLock { state in state.entries.first.map { $0.number...state.latest } }
    }

    /// The oldest entries after `cursor` that match, at most `limit`, examining at most `looks`.
    package func entries(
        after cursor: UInt64, limit: Int, looks: Int = 1024,
        matching matches: (VehicleEntry) -> Bool
    ) -> Reading {
        let (kept, start) = state.withLock { state in
            let evicted = state.latest - UInt64(state.entries.count)
            let start = RingCursor(after: cursor, evicted: evicted, latest: state.latest)
            let kept = state.entries.dropFirst(Int(start.number - evicted)).prefix(looks)
            return (Array(kept), start)
        }
        var reading = Reading(
            entries: [], next: start.number, missed: start.missed, isAtEnd: kept.count < looks)
        for entry in kept {
            guard reading.entries.count < limit else {
                reading.isAtEnd = false
                break
            }
            reading.next = entry.number
            if matches(entry) { reading.entries.append(entry) }
        }
        return reading
    }

    /// The number before the newest `count` entries that match.
    package func cursor(before count: Int, matching matches: (VehicleEntry) -> Bool) -> UInt64 {
        let (entries, latest) = state.withLock { (Array($0.entries), $0.latest) }
        let newest = entries.reversed().lazy.filter(matches).prefix(count)
        guard count > 0, let oldest = Array(newest).last else { return latest }
        return oldest.number - 1
    }

    /// Returns when there is an entry after `cursor`, the waiter is woken, or the task is cancelled.
    package func wait(_ waiter: Waiter, after cursor: UInt64) async {
        await readers.wait(waiter) { latest > cursor }
    }
}

extension VehicleTraffic.State {
    fileprivate mutating func take(_ item: VehicleItem, into entries: inout [VehicleEntry]) {
        func add(_ content: VehicleEntry.Content, _ state: inout Self) {
            state.latest &+= 1
            entries.append(
                VehicleEntry(number: state.latest, time: item.time, content: content))
        }
        switch item.content {
        case .heard(let messages):
            let time = VehicleTime(item.time, steady: item.steady)
            for (message, destination, wire) in messages {
                facts.heard(message, at: time)
                let isKept = wire.count <= VehicleEntry.maximumWireBytes
                add(.heard(message, to: destination, wire: isKept ? Array(wire) : []), &self)
            }
        case .sent(let message, let client): add(.sent(message, by: client), &self)
        case .answered(let message, let client): add(.answered(message, client), &self)
        // A written message already has an entry of its own.
        case .noted(.written): break
        case .noted(let note): add(.noted(note), &self)
        case .linkOpened(let address):
            // It may be another vehicle interface, or another car.
            facts = VehicleFacts()
            add(.linkOpened(address: address), &self)
        case .linkClosed(let reason): add(.linkClosed(reason: reason), &self)
        case .missed(let messages): add(.missed(messages: messages), &self)
        }
    }
}
