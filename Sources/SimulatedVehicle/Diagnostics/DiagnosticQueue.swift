import NIOCore
import OpenXCProtocol

/// The requests that the firmware keeps, one-time and recurring, by the rules of firmware 8.2.1.
struct DiagnosticQueue: Sendable {
    /// What distinguishes one recurring request from another.
    private struct Key: Hashable {
        var bus: Int32
        var id: UInt32
        var mode: UInt32
        var pid: UInt32
    }

    private struct Entry: Sendable {
        var request: DiagnosticRequest
        var due: NIODeadline
        /// For a request that was sent: when it has been answered or is given up.
        var open: NIODeadline?
    }

    /// The most requests kept at once, of both kinds.
    static let maximumRequests = 20
    /// Requests per second.
    static let maximumFrequency = 10.0
    /// The time that the vehicle has to answer.
    static let patience = TimeAmount.milliseconds(100)

    private var entries: [Entry] = []

    var count: Int { entries.count }

    var nextDeadline: NIODeadline? {
        entries.map { min($0.due, $0.open ?? $0.due) }.min()
    }

    /// - Returns: Whether the request was accepted: the status of the response.
    mutating func add(_ request: DiagnosticRequest, at now: NIODeadline) -> Bool {
        guard request.frequency <= Self.maximumFrequency else { return false }
        if request.isRecurring, let twin = index(of: request) {
            // The failed attempt also removes the first request (firmware 8.2.1).
            entries.remove(at: twin)
            return false
        }
        guard entries.count < Self.maximumRequests else { return false }
        entries.append(Entry(request: request, due: now))
        return true
    }

    /// - Returns: Whether there was such a recurring request.
    mutating func cancel(_ request: DiagnosticRequest) -> Bool {
        guard let index = index(of: request) else { return false }
        entries.remove(at: index)
        return true
    }

    private func index(of request: DiagnosticRequest) -> Int? {
        entries.firstIndex { $0.request.isRecurring && Self.key($0.request) == Self.key(request) }
    }

    private static func key(_ request: DiagnosticRequest) -> Key {
        Key(
            bus: max(1, request.bus), id: request.id, mode: request.mode, pid: request.pid)
    }

    /// Ends a request that has been answered, before the vehicle's time is up. Of several equal ones, ends one that
    /// still waits.
    mutating func end(_ request: DiagnosticRequest, at time: NIODeadline) {
        let waiting = entries.firstIndex {
            $0.request == request && $0.open.map { $0 > time } ?? false
        }
        if let waiting { entries[waiting].open = time }
    }

    /// The requests to send to the vehicle now.
    mutating func due(at now: NIODeadline) -> [DiagnosticRequest] {
        entries.removeAll { entry in
            !entry.request.isRecurring && entry.open.map { $0 <= now } ?? false
        }
        var due: [DiagnosticRequest] = []
        for index in entries.indices {
            if let open = entries[index].open, open <= now { entries[index].open = nil }
            guard entries[index].due <= now else { continue }
            let request = entries[index].request
            due.append(request)
            entries[index].open = now + Self.patience
            entries[index].due =
                request.isRecurring
                ? now + .nanoseconds(Int64(1e9 / max(0.001, request.frequency))) : .distantFuture
        }
        return due
    }
}
