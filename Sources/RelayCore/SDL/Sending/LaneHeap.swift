// Finds the lane that is served next within a class; used by `LinkScheduler`.

/// A binary heap of lanes by what their app has been given so far.
///
/// Lanes are not removed when they move on: the caller compares the stamp and drops outdated keys.
struct LaneHeap {
    struct Key {
        /// Bytes its app had been given when the lane was put here.
        var served: UInt64
        /// Breaks ties: the lane that was put here first wins.
        var turn: UInt64
        var lane: Int16
        var stamp: UInt32

        @inline(__always)
        static func < (left: Key, right: Key) -> Bool {
            left.served == right.served ? left.turn < right.turn : left.served < right.served
        }
    }

    private var keys: ContiguousArray<Key> = []

    var first: Key? { keys.first }

    mutating func insert(_ key: Key) {
        keys.append(key)
        var child = keys.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard key < keys[parent] else { break }
            keys[child] = keys[parent]
            child = parent
        }
        keys[child] = key
    }

    mutating func removeFirst() {
        guard let last = keys.popLast(), !keys.isEmpty else { return }
        sink(last)
    }

    /// Replaces the first key, whose app has been given more meanwhile.
    mutating func replaceFirst(with key: Key) {
        guard !keys.isEmpty else { return }
        sink(key)
    }

    mutating func removeAll() {
        keys.removeAll(keepingCapacity: true)
    }

    private mutating func sink(_ key: Key) {
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < keys.count else { break }
            if child + 1 < keys.count, keys[child + 1] < keys[child] { child += 1 }
            guard keys[child] < key else { break }
            keys[parent] = keys[child]
            parent = child
        }
        keys[parent] = key
    }
}
