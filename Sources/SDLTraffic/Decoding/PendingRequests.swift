import RelayCore

/// Pairs the responses of one session with its requests; when there are too many, the oldest are dropped.
/// `TrafficDecoder` keeps one for each session.
struct PendingRequests: Sendable {
    /// Per session; sdl_core refuses an app's requests beyond 5000 waiting ones.
    static let maximum = 4096

    private struct Key: Hashable {
        var direction: Direction
        var correlationID: Int32
    }

    private struct Waiting {
        var request: PendingRequest
        /// Whether its lateness was reported.
        var isReported = false
    }

    private var waiting: [Key: Waiting] = [:]
    /// Keys in order of arrival, including answered ones; valid from index `first` on.
    private var arrivals: [(key: Key, number: UInt64)] = []
    private var first = 0
    private var unreported = 0
    /// A lower bound for the first moment at which a request is late; exact after `takeLate`.
    private var earliest = Int64.max
    /// Whether a request was dropped, so that an answer without a request proves nothing.
    private(set) var isIncomplete = false

    /// When to call `takeLate`, or earlier than needed; nil while nothing waits.
    var nextDeadline: Int64? { unreported > 0 ? earliest : nil }

    /// Returns the request that had the same correlation ID and is now forgotten.
    mutating func add(_ request: PendingRequest) -> PendingRequest? {
        let key = Key(direction: request.direction, correlationID: request.correlationID)
        let replaced = remove(key)
        waiting[key] = Waiting(request: request)
        unreported += 1
        earliest = min(earliest, request.deadline)
        arrivals.append((key, request.number))
        while first < arrivals.count, waiting.count > Self.maximum || !isWaiting(arrivals[first]) {
            if isWaiting(arrivals[first]) {
                _ = remove(arrivals[first].key)
                isIncomplete = true
            }
            first += 1
        }
        if arrivals.count - waiting.count > Self.maximum {
            arrivals = arrivals[first...].filter(isWaiting)
            first = 0
        }
        return replaced
    }

    /// Removes and returns the request that a response in `direction` answers.
    mutating func answer(direction: Direction, correlationID: Int32) -> PendingRequest? {
        remove(
            Key(
                direction: direction == .fromApp ? .fromAccessory : .fromApp,
                correlationID: correlationID))
    }

    /// Returns requests that became late, each once, in order of arrival.
    mutating func takeLate(at now: Int64) -> [PendingRequest] {
        guard unreported > 0, now >= earliest else { return [] }
        var late: [PendingRequest] = []
        earliest = .max
        for (key, entry) in waiting where !entry.isReported {
            guard now >= entry.request.deadline else {
                earliest = min(earliest, entry.request.deadline)
                continue
            }
            waiting[key]?.isReported = true
            unreported -= 1
            late.append(entry.request)
        }
        return late.sorted { $0.number < $1.number }
    }

    /// Adjusts to a clock that was set forward by this many nanoseconds.
    mutating func shift(by step: Int64) {
        earliest = .max
        for key in waiting.keys {
            guard var entry = waiting[key] else { continue }
            entry.request.time = entry.request.time.shifted(by: step)
            waiting[key] = entry
            if !entry.isReported { earliest = min(earliest, entry.request.deadline) }
        }
    }

    private mutating func remove(_ key: Key) -> PendingRequest? {
        guard let entry = waiting.removeValue(forKey: key) else { return nil }
        if !entry.isReported {
            unreported -= 1
            if unreported == 0 { earliest = .max }
        }
        return entry.request
    }

    private func isWaiting(_ arrival: (key: Key, number: UInt64)) -> Bool {
        waiting[arrival.key]?.request.number == arrival.number
    }
}

extension PendingRequest {
    /// When the answer is late.
    var deadline: Int64 {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(patience)
        return overflow ? .max : sum
    }
}
