// Messages sent to apps in place of the head unit, never inside a head unit's message that is only half
// delivered. Pure; kept by `SessionRouter`.

import NIOCore
import SDLProtocol

struct Injections {
    private struct Waiting {
        var id: OwnRequestID
        var session: UInt8
        var service: ServiceType
        var frames: [Frame]
        var deadline: NIODeadline
    }

    /// Message IDs of injections: no head unit counts that far. Positive for libraries with signed numbers.
    static let messageIDs: ClosedRange<UInt32> = 0x7F00_0000...0x7FFF_FFFF
    /// Per session.
    static let limitPerSession = 64
    /// Multi-frame messages remembered as half delivered: one for each session and more.
    static let maximumHalves = 1024
    /// After this a multi-frame message does not go on; receivers give it up as well.
    static let patience = TimeAmount.seconds(10)

    private var waiting: [Waiting] = []
    private var count: UInt32 = 0
    /// Messages of the head unit whose beginning apps have received, with the time of their latest frame.
    private var halves: [AppRequests.Key: NIODeadline] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    mutating func nextMessageID() -> UInt32 {
        count &+= 1
        return Self.messageIDs.lowerBound + count % UInt32(Self.messageIDs.count)
    }

    /// Notes that an app gets a frame of a multi-frame message.
    mutating func delivered(_ frame: Frame, at now: NIODeadline) {
        let key = AppRequests.Key(frame)
        if frame.type == .consecutive, frame.info == 0 {
            halves[key] = nil
        } else if halves[key] != nil || halves.count < Self.maximumHalves {
            halves[key] = now
        }
    }

    /// Whether a message may be sent in this service of the session now.
    func mayGo(_ session: UInt8, _ service: ServiceType, at now: NIODeadline) -> Bool {
        guard !waiting.contains(where: { $0.session == session && $0.service == service }) else {
            return false
        }
        return !isHalf(session, service, at: now)
    }

    private func isHalf(_ session: UInt8, _ service: ServiceType, at now: NIODeadline) -> Bool {
        !halves.isEmpty
            && halves.contains {
                $0.key.session == session && $0.key.service == service
                    && now - $0.value < Self.patience
            }
    }

    func waiting(in session: UInt8) -> Int { waiting.count { $0.session == session } }

    mutating func wait(
        _ id: OwnRequestID, _ frames: [Frame], in session: UInt8, until deadline: NIODeadline
    ) {
        guard let service = frames.first?.service else { return }
        waiting.append(
            Waiting(
                id: id, session: session, service: service, frames: frames, deadline: deadline))
    }

    /// Takes out the messages that may be sent now, in the order in which they came.
    mutating func takeReady(at now: NIODeadline) -> [(id: OwnRequestID, frames: [Frame])] {
        guard !waiting.isEmpty else { return [] }
        // Expired halves are given up: otherwise their past time would be the next deadline again and again.
        halves = halves.filter { now - $0.value < Self.patience }
        let before = waiting
        let stays = before.map { isHalf($0.session, $0.service, at: now) }
        waiting = zip(before, stays).filter(\.1).map(\.0)
        return zip(before, stays).filter { !$0.1 }.map { ($0.0.id, $0.0.frames) }
    }

    /// Takes out the messages that have waited too long.
    mutating func takeOverdue(at now: NIODeadline) -> [OwnRequestID] {
        take { $0.deadline <= now }
    }

    /// Drops a message that is no longer wanted.
    mutating func giveUp(_ id: OwnRequestID) { waiting.removeAll { $0.id == id } }

    var nextDeadline: NIODeadline? {
        guard let first = waiting.map(\.deadline).min() else { return nil }
        // A half message may be given up before that.
        let over = halves.values.map { $0 + Self.patience }.min() ?? first
        return min(first, over)
    }

    /// - Parameter session: Nil for all sessions.
    /// - Returns: The messages that will not be sent.
    mutating func end(_ session: UInt8?) -> [OwnRequestID] {
        if !halves.isEmpty {
            halves = session == nil ? [:] : halves.filter { $0.key.session != session }
        }
        return take { session == nil || $0.session == session }
    }

    private mutating func take(_ isTaken: (Waiting) -> Bool) -> [OwnRequestID] {
        guard !waiting.isEmpty else { return [] }
        let taken = waiting.filter(isTaken).map(\.id)
        waiting.removeAll(where: isTaken)
        return taken
    }
}
