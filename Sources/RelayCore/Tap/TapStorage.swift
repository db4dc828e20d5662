import NIOCore
import Synchronization

/// The storage of batches that all their readers have done with, for the next ones: memory that comes new from the
/// kernel for every batch costs as much as the copies that go into it. Belongs to a `FrameTap`; the readers of its
/// queues give back what they had.
///
/// What a reader keeps is its own: only storage that nobody else refers to any more is used again, so the last reader
/// makes it ready.
final class TapStorage: Sendable {
    private struct State {
        var spare: [ByteBuffer] = []
        /// What `spare` occupies.
        var bytes = 0
        /// Since the last large batch.
        var smallBatches = 0
    }

    private let state = Mutex(State())

    /// Smaller ones `malloc` has at hand.
    static let minimumBytes = 256 << 10
    /// Four of a link at full speed. No more is kept in reserve.
    static let maximumBytes = 8 << 20
    /// What a batch of a link at full speed needs. Storage that a larger frame has needed is too large for the
    /// batches that follow, which would be copied out of it.
    static let mostBytesAtOnce = maximumBytes / 4
    /// After so many small batches in a row the traffic is quiet. Sinks with different delays cut small ones
    /// from busy traffic, too.
    static let quietBatches = 8

    /// What is in reserve.
    var bytes: Int { state.withLock { $0.bytes } }

    /// For the next batch.
    ///
    /// - Parameter full: What the last one was in.
    func take(like full: ByteBuffer) -> ByteBuffer? {
        guard full.storageCapacity >= Self.minimumBytes else { return nil }
        return state.withLock { state in
            guard let storage = state.spare.popLast() else { return nil }
            state.bytes -= storage.storageCapacity
            return storage
        }
    }

    /// A reader has done with what it had.
    ///
    /// - Parameters:
    ///   - lent: Its references; afterwards it has none. They go while no other reader is asked, or two could each
    ///     leave it to the other.
    ///   - limit: Bytes that its queue may need again.
    func takeBack(_ lent: inout [ByteBuffer], atMost limit: Int) {
        guard !lent.isEmpty else { return }
        state.withLock { state in
            for index in lent.indices {
                let capacity = lent[index].storageCapacity
                guard capacity <= Self.mostBytesAtOnce,
                    state.bytes + capacity <= min(limit, Self.maximumBytes),
                    lent[index].modifyIfUniquelyOwned({ $0.clear() }) != nil
                else { continue }
                state.spare.append(lent[index])
                state.bytes += capacity
            }
            lent = []
        }
    }

    /// A batch has been handed over: keeps no more than one of the queues has room for, and nothing once the
    /// traffic has become quiet.
    ///
    /// - Parameters:
    ///   - isLarge: Whether the batch was in storage that is worth using again.
    ///   - room: Bytes, in the queue that has most.
    /// - Returns: Whether the traffic has become quiet.
    func settle(isLarge: Bool, room: Int) -> Bool {
        state.withLock { state in
            state.smallBatches = isLarge ? 0 : state.smallBatches + 1
            let isQuiet = state.smallBatches >= Self.quietBatches
            guard isQuiet || state.bytes > room else { return false }
            state.smallBatches = 0
            (state.spare, state.bytes) = ([], 0)
            return isQuiet
        }
    }
}
