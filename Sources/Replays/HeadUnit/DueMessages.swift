import NIOCore

/// Messages that wait for their time, the earliest first; messages of the same time are in the order in which
/// they came.
struct DueMessages {
    struct Due {
        var at: NIODeadline
        var session: Int
        var message: RecordedMessage
    }

    private var waiting: [Due] = []
    /// The index of the first message that is still waiting.
    private var start = 0

    var count: Int { waiting.count - start }
    var first: Due? { start < waiting.count ? waiting[start] : nil }

    mutating func add(_ due: Due) {
        var (low, high) = (start, waiting.count)
        // Most come in order.
        if let last = waiting.last, last.at <= due.at { low = high }
        while low < high {
            let middle = low + (high - low) / 2
            if waiting[middle].at <= due.at { low = middle + 1 } else { high = middle }
        }
        waiting.insert(due, at: low)
    }

    mutating func next(at now: NIODeadline) -> Due? {
        guard let first, first.at <= now else { return nil }
        start += 1
        if start > 1024, start * 2 > waiting.count {
            waiting.removeFirst(start)
            start = 0
        }
        return first
    }

    /// - Returns: The messages that will no longer be sent.
    mutating func drop(session: Int) -> [Due] {
        let gone = waiting[start...].filter { $0.session == session }
        guard !gone.isEmpty else { return [] }
        waiting = waiting[start...].filter { $0.session != session }
        start = 0
        return gone
    }
}
