// StartServices that wait for ACK or NAK; kept by `TrafficDecoder`, to tell when one is overdue.

import SDLProtocol

/// Nothing in an answer names the asker, so they are counted by app and service, in order.
struct PendingStarts: Sendable {
    /// Per app and service; the relay itself lets fewer wait.
    static let maximum = 16

    struct Key: Hashable, Sendable, Comparable {
        var app: AppID
        var service: ServiceType

        static func < (left: Self, right: Self) -> Bool {
            (left.app, left.service.rawValue) < (right.app, right.service.rawValue)
        }
    }

    struct Start: Hashable, Sendable {
        var sessionID: UInt8
        /// When it was sent, or when there was somebody to answer it.
        var time: WallTime
        var isReported = false
    }

    private var waiting: [Key: [Start]] = [:]
    /// Without a head unit nobody is late; the relay holds or refuses the app itself.
    private var isLinkUp = false

    mutating func linkOpened(at time: WallTime) {
        isLinkUp = true
        for key in waiting.keys {
            waiting[key] = waiting[key]?.map { Start(sessionID: $0.sessionID, time: time) }
        }
    }

    mutating func linkClosed() {
        isLinkUp = false
    }

    mutating func add(_ frame: TappedFrame) {
        guard let app = frame.app else { return }
        var starts = waiting[Key(app: app, service: frame.frame.service)] ?? []
        guard starts.count < Self.maximum else { return }
        starts.append(Start(sessionID: frame.frame.sessionID, time: frame.time))
        waiting[Key(app: app, service: frame.frame.service)] = starts
    }

    /// An ACK or NAK answers the oldest.
    mutating func answer(_ frame: TappedFrame) {
        guard let app = frame.app else { return }
        let key = Key(app: app, service: frame.frame.service)
        guard var starts = waiting[key] else { return }
        starts.removeFirst()
        waiting[key] = starts.isEmpty ? nil : starts
    }

    mutating func forget(_ app: AppID) {
        for key in waiting.keys where key.app == app { waiting[key] = nil }
    }

    /// The clock was set forward by so many nanoseconds.
    mutating func shift(by step: Int64) {
        for key in waiting.keys {
            waiting[key] = waiting[key]?.map { start in
                var start = start
                start.time = start.time.shifted(by: step)
                return start
            }
        }
    }

    /// The next moment at which one is late.
    var nextDeadline: Int64? {
        guard isLinkUp, !waiting.isEmpty else { return nil }
        return waiting.values.joined().filter { !$0.isReported }.map(Self.deadline).min()
    }

    /// Those that became late, each once.
    mutating func takeLate(at now: Int64) -> [(Key, Start)] {
        guard let nextDeadline, now >= nextDeadline else { return [] }
        var late: [(Key, Start)] = []
        for key in waiting.keys.sorted() {
            for (index, start) in (waiting[key] ?? []).enumerated()
            where !start.isReported && now >= Self.deadline(start) {
                waiting[key]?[index].isReported = true
                late.append((key, start))
            }
        }
        return late
    }

    private static func deadline(_ start: Start) -> Int64 {
        start.time.nanoseconds &+ RequestPatience.startService
    }
}
