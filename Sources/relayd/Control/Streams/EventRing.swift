package import ControlAPI
import NIOCore
package import RelayCore
import SDLAdvice
import SDLProtocol
package import SDLTraffic
import Synchronization

/// Keeps the latest events of decoded traffic, advice, limits and the control API itself; the
/// oldest make room for the newest. It never waits for readers: a reader that is overtaken is told
/// how many events it missed.
package final class EventRing: TrafficConsumer {
    /// Distinguishes the numbers of this run of relayd from those of another.
    package let instance: String
    private let capacity: Int

    private struct State {
        var events = CircularBuffer<RelayEvent>()
        var latest = 0
    }
    private let state = Mutex(State())
    private let readers = WaitingReaders()

    /// Events kept: hours of a bench, about half a megabyte.
    package static let defaultCapacity = 1000

    package init(instance: String, capacity: Int = defaultCapacity) {
        self.instance = instance
        self.capacity = capacity
    }

    // MARK: Keeping

    package func add(
        _ event: RelayEventKind, _ text: String, at time: WallTime = .now(), app: AppID? = nil,
        appName: String? = nil, code: String? = nil, count: Int? = nil
    ) {
        state.withLock { state in
            state.latest += 1
            state.events.append(
                RelayEvent(
                    n: state.latest, at: Timestamp(time), event: event, text: text,
                    app: app.map { Int($0.rawValue) }, appName: appName, code: code, count: count))
            if state.events.count > capacity { state.events.removeFirst() }
        }
        readers.wake()
    }

    package func consume(_ entries: [TrafficEntry]) {
        for entry in entries { consume(entry) }
    }

    private func consume(_ entry: TrafficEntry) {
        let who = entry.appName ?? entry.app.map { "app \($0)" } ?? "the head unit"
        func add(_ kind: RelayEventKind, _ text: String, count: Int? = nil) {
            self.add(
                kind, text, at: entry.time, app: entry.app, appName: entry.appName, count: count)
        }
        switch entry.content {
        case .event(.linkOpened(_, let address)): add(.linkOpened, "the link to \(address) is open")
        case .event(.linkClosed(let reason)): add(.linkClosed, "the link is closed: \(reason)")
        case .event(.appConnected(let peer)): add(.appConnected, "\(who) connected from \(peer)")
        case .event(.appClosed(let reason)): add(.appLeft, "\(who) left: \(reason)")
        case .event(.missed(let frames, _)):
            add(.missed, "\(frames) frames were forwarded unseen", count: frames)
        case .event(.noticed(let notice)): add(.notice, "\(who) \(notice.description)")
        case .rpc(let rpc)
        where rpc.outcome?.success == true && rpc.message.functionID == .registerAppInterface
            && !entry.isOfRelay:
            add(.appRegistered, "\(who) is registered")
        default: break
        }
    }

    // MARK: Reading

    /// Some of the kept events, and the cursor to continue after.
    package struct Reading: Sendable, Equatable {
        package var events: [RelayEvent]
        package var next: Int
        package var missed: Int
    }

    /// Numbers of the oldest and the latest kept event.
    package var range: ClosedRange<Int>? {
        state.withLock { state in
            state.events.first.map { $0.n...state.latest }
        }
    }

    package var latest: Int { state.withLock { $0.latest } }

    /// The oldest `limit` events after `cursor`.
    package func events(after cursor: Int, limit: Int) -> Reading {
        state.withLock { state in
            let evicted = state.latest - state.events.count
            let cursor = RingCursor(
                after: UInt64(clamping: cursor), evicted: UInt64(clamping: evicted),
                latest: UInt64(clamping: state.latest))
            let start = Int(clamping: cursor.number)
            let events = Array(state.events.dropFirst(start - evicted).prefix(limit))
            return Reading(
                events: events, next: events.last?.n ?? start,
                missed: Int(clamping: cursor.missed))
        }
    }

    /// The newest `limit` events, oldest first.
    package func newest(_ limit: Int) -> Reading {
        state.withLock { state in
            Reading(events: Array(state.events.suffix(limit)), next: state.latest, missed: 0)
        }
    }

    /// Returns when there is an event after `cursor`, the waiter is woken, or the task is cancelled.
    package func wait(_ waiter: Waiter, after cursor: Int) async {
        await readers.wait(waiter) { latest > cursor }
    }
}

extension EventRing {
    /// Adds a new piece of advice.
    func add(_ advice: Advice) {
        add(
            .advice, advice.sentence, at: advice.time, app: advice.app, appName: advice.appName,
            code: advice.code.rawValue)
    }

    /// Adds a limit that was hit for the first time, or 2, 4, 8, … times.
    func add(_ limit: RelayLimit, _ hits: LimitHits) {
        addLimit(limit.rawValue, count: Int(clamping: hits.count), at: hits.lastAt ?? .now())
    }

    /// Adds that the places of the control API were all taken, for the first time, or 2, 4, 8, …
    /// times.
    func addOverflow(_ name: String, count: Int) {
        addLimit(name, count: count, at: .now())
    }

    private func addLimit(_ name: String, count: Int, at time: WallTime) {
        add(
            .limit, "limit \(name) was hit, \(count) time\(count == 1 ? "" : "s") so far", at: time,
            code: name, count: count)
    }
}
