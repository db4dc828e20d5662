import NIOCore

/// The storage of batches that a reader has done with, for the next ones: memory that comes new from the kernel for every
/// batch costs as much as the copies that go into it. Belongs to a `TapQueue`.
///
/// What a reader keeps is its own: only storage that nobody else refers to any more is used again.
struct TapStorage {
    /// Of batches that the reader has.
    private var lent: [ByteBuffer] = []
    private var spare: [ByteBuffer] = []
    /// What `spare` occupies.
    private(set) var spareBytes = 0

    /// Smaller ones `malloc` has at hand.
    static let minimumBytes = 256 << 10
    /// Four of a link at full speed. No queue keeps more in reserve.
    static let maximumBytes = 8 << 20

    mutating func lend(_ batch: TapBatch) {
        guard batch.storage.storageCapacity >= Self.minimumBytes else { return }
        lent.append(batch.storage)
    }

    /// The reader has come back, and has done with what it had.
    ///
    /// - Parameter limit: Bytes that the queue may need for it.
    mutating func recover(limit: Int) {
        guard !lent.isEmpty else { return }
        for index in lent.indices {
            let capacity = lent[index].storageCapacity
            guard spareBytes + capacity <= min(limit, Self.maximumBytes),
                lent[index].modifyIfUniquelyOwned({ $0.clear() }) != nil
            else { continue }
            spare.append(lent[index])
            spareBytes += capacity
        }
        lent = []
    }

    mutating func take() -> ByteBuffer? {
        guard let storage = spare.popLast() else { return nil }
        spareBytes -= storage.storageCapacity
        return storage
    }

    /// What is left in reserve is no more than `bytes`, and nothing once the traffic has become quiet.
    mutating func leaveRoom(_ bytes: Int, after batch: TapBatch) {
        guard !spare.isEmpty else { return }
        if bytes < spareBytes || batch.storage.storageCapacity < Self.minimumBytes {
            (spare, spareBytes) = ([], 0)
        }
    }
}
