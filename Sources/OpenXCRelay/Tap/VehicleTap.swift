// A side path for messages: filled by `OpenXCLanguage` on the hub's loop, read by one reader elsewhere. The
// sibling of `FrameTap`, which carries SDL frames.

package import NIOCore
package import OpenXCProtocol
package import RelayCore
import Synchronization

/// A message on the link or of a client, or an event that concerns them.
package struct VehicleItem: Sendable {
    package typealias Heard = (
        message: VehicleMessage, destination: VehicleRouter<AppID>.Destination,
        wire: ArraySlice<UInt8>
    )

    package enum Content: Sendable {
        /// The messages of one read of the link, each with its destination and as it came.
        case heard([Heard])
        /// Sent to the vehicle interface; by nil if relayd itself wanted it.
        case sent(VehicleMessage, by: AppID?)
        /// relayd's own answer to a client.
        case answered(VehicleMessage, AppID)
        case noted(Note<AppID>)
        /// - Parameter address: As configured.
        case linkOpened(address: String)
        case linkClosed(reason: String)
        /// The reader was too slow and missed so many messages.
        case missed(messages: Int)
    }

    package var content: Content
    /// When the read that brought it was made.
    package var time: WallTime
    /// The same time by the monotonic clock.
    package var steady: NIODeadline

    package init(_ content: Content, at time: WallTime, steady: NIODeadline) {
        self.content = content
        self.time = time
        self.steady = steady
    }

    fileprivate var messages: Int {
        switch content {
        case .heard(let messages): messages.count
        case .sent, .answered, .noted: 1
        case .linkOpened, .linkClosed, .missed: 0
        }
    }
}

/// A bounded queue between the hub and the reader of the messages. The hub never waits: messages that do not
/// fit are not queued, only counted, and the reader is told. Of the link's events meanwhile, it is told the last.
/// Nothing is decoded for the tap: the messages are those that the hub has made for the clients. Their bytes
/// on the wire are copied once per read.
///
/// Not a `TapQueue`: that carries views of frames whose storage is lent and returned, to recordings that the
/// hub waits for.
package final class VehicleTap: Sendable {
    fileprivate struct State {
        var items: [VehicleItem] = []
        var bytes = 0
        /// Bytes given to the reader, which still works on them.
        var takenBytes = 0
        var missed = 0
        var totalMissed: UInt64 = 0
        /// Events that did not fit and must be told all the same: the last end of the link, and its opening
        /// since.
        var linkClosed: VehicleItem?
        var linkOpened: VehicleItem?
        var isFinished = false
        var isDue = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    /// Bytes that the queue may hold (`limits.tap_queue`).
    package let maximumBytes: Int
    /// Bytes that a message occupies besides its text.
    static let overheadBytes = 256
    /// Delay before the reader is woken: nobody reads a log faster, and waking costs more than a message.
    static let delay = TimeAmount.milliseconds(10)

    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Messages that the reader has missed since the tap was made.
    package var missedMessages: UInt64 { state.withLock(\.totalMissed) }

    /// - Parameter bytes: The size of the messages on the wire.
    /// - Returns: Whether `handOver` is to be called in a moment: this is the first item since the last call.
    func record(_ item: VehicleItem, bytes: Int) -> Bool {
        state.withLock { state in
            guard !state.isFinished else { return false }
            let messages = item.messages
            let occupied = bytes + max(1, messages) * Self.overheadBytes
            if state.bytes + state.takenBytes + occupied > maximumBytes {
                state.miss(item)
            } else {
                state.tellMissed(at: item.time, item.steady)
                state.items.append(item)
                state.bytes += occupied
            }
            defer { state.isDue = true }
            return !state.isDue
        }
    }

    /// Wakes the reader.
    package func handOver() {
        let waiter = state.withLock { state in
            state.isDue = false
            return state.items.isEmpty && !state.isOwing ? nil : state.waiter.take()
        }
        waiter?.resume()
    }

    /// Ends the queue; items still queued can be taken.
    package func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Everything queued; waits for an item if there is none. Nil at the end.
    package func next() async -> [VehicleItem]? {
        while true {
            let (items, isFinished) = state.withLock { state in
                if state.items.isEmpty, state.isOwing { state.tellMissed(at: .now(), .now()) }
                state.takenBytes = state.bytes
                state.bytes = 0
                defer { state.items = [] }
                return (state.items, state.isFinished)
            }
            if !items.isEmpty { return items }
            if isFinished { return nil }
            await withCheckedContinuation { continuation in
                let mayWait = state.withLock { state in
                    guard !state.isFinished, state.isDue || state.items.isEmpty && !state.isOwing
                    else { return false }
                    state.waiter = continuation
                    return true
                }
                if !mayWait { continuation.resume() }
            }
        }
    }
}

extension VehicleTap.State {
    /// Whether the reader has yet to be told of something that did not fit.
    fileprivate var isOwing: Bool { missed > 0 || linkClosed != nil || linkOpened != nil }

    fileprivate mutating func miss(_ item: VehicleItem) {
        missed += item.messages
        totalMissed &+= UInt64(item.messages)
        switch item.content {
        case .linkClosed: (linkClosed, linkOpened) = (item, nil)
        case .linkOpened: linkOpened = item
        case .heard, .sent, .answered, .noted, .missed: break
        }
    }

    fileprivate mutating func tellMissed(at time: WallTime, _ steady: NIODeadline) {
        if missed > 0 {
            items.append(VehicleItem(.missed(messages: missed), at: time, steady: steady))
            missed = 0
        }
        for item in [linkClosed.take(), linkOpened.take()].compactMap(\.self) {
            items.append(item)
            bytes += VehicleTap.overheadBytes
        }
    }
}
