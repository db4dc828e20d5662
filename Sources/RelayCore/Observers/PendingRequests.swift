// Pairs responses with their requests; `TrafficDecoder` keeps one table per session.

import SDLProtocol

/// Requests of one session that wait for their response, the oldest given up when there are
/// too many.
struct PendingRequests: Sendable {
    /// Per session; sdl_core refuses an app's requests beyond 5000 waiting ones.
    static let maximum = 4096

    private struct Key: Hashable {
        var direction: Direction
        var correlationID: Int32
    }

    private var waiting: [Key: PendingRequest] = [:]
    /// Keys in order of arrival, those answered since included; `first` is where it begins.
    private var arrivals: [(key: Key, number: UInt64)] = []
    private var first = 0

    var count: Int { waiting.count }

    mutating func add(_ request: PendingRequest, direction: Direction, correlationID: Int32) {
        let key = Key(direction: direction, correlationID: correlationID)
        waiting[key] = request
        arrivals.append((key, request.number))
        while first < arrivals.count, waiting.count > Self.maximum || !isWaiting(arrivals[first]) {
            if isWaiting(arrivals[first]) { waiting[arrivals[first].key] = nil }
            first += 1
        }
        guard arrivals.count - waiting.count > Self.maximum else { return }
        arrivals = arrivals[first...].filter(isWaiting)
        first = 0
    }

    /// The request that a response going in `direction` answers.
    mutating func answer(direction: Direction, correlationID: Int32) -> PendingRequest? {
        let key = Key(
            direction: direction == .fromApp ? .fromAccessory : .fromApp,
            correlationID: correlationID)
        return waiting.removeValue(forKey: key)
    }

    private func isWaiting(_ arrival: (key: Key, number: UInt64)) -> Bool {
        waiting[arrival.key]?.number == arrival.number
    }
}
