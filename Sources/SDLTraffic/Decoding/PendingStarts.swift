import RelayCore
import SDLAdvice
import SDLProtocol

/// StartServices that wait for ACK or NAK, kept by `TrafficDecoder` to detect overdue ones. An answer does
/// not name the asker, so they are tracked by app and service, in order.
///
/// The router tells which of them have been sent to the head unit: one that waits for its turn is marked, and
/// an event reports when it is sent. In recordings from before these marks, each was sent when it came.
struct PendingStarts: Sendable {
    /// Maximum per app and service; the relay itself lets fewer wait.
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
        /// When it came; if it had to wait, when it was sent, or when there was a head unit to answer it.
        var time: WallTime
        /// Whether it has yet to be sent to the head unit.
        var isWaiting = false
        var isReported = false
        /// Whether relayd meanwhile dropped something from the head unit that may have been the answer.
        var mayBeLost = false
    }

    private var waiting: [Key: [Start]] = [:]
    /// StartServices that relayd did not pass on, until its own refusal of them is seen.
    private var refused: [Key: DropReason] = [:]
    /// Without a head unit, no answer is late; the relay holds or refuses the StartService itself.
    private var isLinkUp = false

    mutating func linkOpened(at time: WallTime) {
        isLinkUp = true
        for key in waiting.keys {
            waiting[key] = waiting[key]?.map { start in
                // A start whose sending the router reports late, because a queue was full, may already have
                // been sent on this link.
                start.isWaiting
                    ? start : Start(sessionID: start.sessionID, time: max(start.time, time))
            }
        }
    }

    /// Ends all sessions, with the services asked for in them.
    mutating func linkClosed() {
        isLinkUp = false
        keep { $1.sessionID == 0 }
    }

    mutating func sessionEnded(_ session: UInt8, of app: AppID) {
        keep { $0.app != app || $1.sessionID != session }
    }

    private mutating func keep(_ isKept: (Key, Start) -> Bool) {
        for (key, starts) in waiting {
            let kept = starts.filter { isKept(key, $0) }
            waiting[key] = kept.isEmpty ? nil : kept
        }
    }

    mutating func add(_ frame: TappedFrame) {
        guard let app = frame.app else { return }
        var starts = waiting[Key(app: app, service: frame.frame.service)] ?? []
        guard starts.count < Self.maximum else { return }
        starts.append(
            Start(
                sessionID: frame.frame.sessionID, time: frame.time, isWaiting: frame.isWaiting))
        waiting[Key(app: app, service: frame.frame.service)] = starts
    }

    /// Notes that a waiting StartService of the app has been sent to the head unit.
    mutating func sent(_ app: AppID, at time: WallTime) {
        let key = Key(app: app, service: .rpc)
        guard let index = waiting[key]?.firstIndex(where: \.isWaiting) else { return }
        waiting[key]?[index].isWaiting = false
        waiting[key]?[index].time = time
    }

    /// Notes that relayd did not pass a StartService on; its refusal follows.
    mutating func drop(_ frame: TappedFrame, because reason: DropReason) {
        guard let app = frame.app else { return }
        refused[Key(app: app, service: frame.frame.service)] = reason
    }

    /// Matches an ACK or NAK with the oldest StartService that it can answer.
    ///
    /// - Returns: When relayd itself refuses the service, the side at fault.
    mutating func answer(_ frame: TappedFrame) -> FaultSide? {
        guard let app = frame.app else { return nil }
        let key = Key(app: app, service: frame.frame.service)
        if frame.fate == .byRelay, let reason = refused.removeValue(forKey: key) {
            // Too many at once, a service that relayd uses in the app's place, or nothing that could answer.
            return switch reason {
            case .queueFull: .app
            case .serviceOfRelay: .relayd
            default: .headUnit
            }
        }
        guard var starts = waiting[key], let index = Self.answered(by: frame, of: starts) else {
            return frame.fate == .byRelay ? .relayd : nil
        }
        let start = starts.remove(at: index)
        waiting[key] = starts.isEmpty ? nil : starts
        return frame.fate == .byRelay ? fault(start, at: frame.time) : nil
    }

    /// The index of the start that the frame answers: relayd refuses one by its own session, and the head
    /// unit answers only those sent to it. Nil when it answers none.
    private static func answered(by frame: TappedFrame, of starts: [Start]) -> Int? {
        if frame.grant == .nothing { return nil }
        let session = frame.frame.sessionID
        let isNamed = frame.fate == .byRelay || frame.grant == .protects
        let named =
            isNamed
            ? starts.firstIndex {
                $0.sessionID == session && (frame.fate == .byRelay || !$0.isWaiting)
            } : nil
        return named ?? starts.firstIndex { !$0.isWaiting } ?? starts.indices.first
    }

    /// Notes that a message of the head unit reached nobody: it may have been the answer to any of them.
    mutating func doubtAnswers() {
        for key in waiting.keys {
            for (index, start) in (waiting[key] ?? []).enumerated() where !start.isWaiting {
                waiting[key]?[index].mayBeLost = true
            }
        }
    }

    /// The side at fault if `start` got no answer until `now`.
    func fault(_ start: Start, at now: WallTime) -> FaultSide {
        if start.mayBeLost { return .relayd }
        guard isLinkUp else { return .headUnit }
        if start.isWaiting { return .relayd }
        return now.nanoseconds >= Self.deadline(start) ? .headUnit : .relayd
    }

    mutating func forget(_ app: AppID) {
        for key in waiting.keys where key.app == app { waiting[key] = nil }
        for key in refused.keys where key.app == app { refused[key] = nil }
    }

    /// Adjusts to a clock that was set forward by this many nanoseconds.
    mutating func shift(by step: Int64) {
        for key in waiting.keys {
            waiting[key] = waiting[key]?.map { start in
                var start = start
                start.time = start.time.shifted(by: step)
                return start
            }
        }
    }

    /// The next moment at which an answer is late.
    var nextDeadline: Int64? {
        guard isLinkUp, !waiting.isEmpty else { return nil }
        return waiting.values.joined().filter { !$0.isReported && !$0.isWaiting }
            .map(Self.deadline).min()
    }

    /// Returns the starts that became late, each once.
    mutating func takeLate(at now: Int64) -> [(Key, Start)] {
        guard let nextDeadline, now >= nextDeadline else { return [] }
        var late: [(Key, Start)] = []
        for key in waiting.keys.sorted() {
            for (index, start) in (waiting[key] ?? []).enumerated()
            where !start.isReported && !start.isWaiting && now >= Self.deadline(start) {
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
