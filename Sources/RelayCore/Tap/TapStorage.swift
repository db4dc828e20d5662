import NIOCore
import Synchronization

/// The storage of batches that all their readers are done with, for the next ones: fresh memory from the
/// kernel for every batch costs as much as the copies that go into it. Belongs to a `FrameTap`; the readers
/// of its queues give back what they had.
///
/// Storage that a reader keeps stays its own: only storage that nobody else refers to any more is reused, so
/// the last reader to finish makes it ready.
final class TapStorage: Sendable {
    private struct State {
        var spare: [ByteBuffer] = []
        /// Bytes that `spare` occupies.
        var bytes = 0
        /// Small batches since the last large one.
        var smallBatches = 0
    }

    private let state = Mutex(State())

    /// `malloc` has smaller pieces at hand.
    static let minimumBytes = 256 << 10
    /// Four batches of a link at full speed: the most that is kept in reserve.
    static let maximumBytes = 8 << 20
    /// What a batch of a link at full speed needs. Storage that a larger frame needed is too large for the
    /// batches that follow, which would be copied out of it.
    static let mostBytesAtOnce = maximumBytes / 4
    /// After this many small batches in a row the traffic counts as quiet. Sinks with different delays cut
    /// small batches from busy traffic, too.
    static let quietBatches = 8

    /// Bytes in reserve.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Takes storage for the next batch.
    ///
    /// - Parameter full: The storage of the last batch.
    func take(like full: ByteBuffer) -> ByteBuffer? {
        guard full.storageCapacity >= Self.minimumBytes else { return nil }
        return state.withLock { state in
            guard let storage = state.spare.popLast() else { return nil }
            state.bytes -= storage.storageCapacity
            return storage
        }
    }

    /// Takes back the storage that a reader is done with.
    ///
    /// - Parameters:
    ///   - lent: The reader's references; empty afterwards. They are dropped under the lock, or two readers
    ///     could each leave the storage to the other.
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

    /// Notes that a batch has been handed over: keeps no more than one of the queues has room for, and
    /// nothing once the traffic has become quiet.
    ///
    /// - Parameters:
    ///   - isLarge: Whether the batch was in storage that is worth reusing.
    ///   - room: Bytes that fit into the queue with the most room.
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
