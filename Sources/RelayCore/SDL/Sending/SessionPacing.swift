// Which sessions have sent all that the head unit tolerates for now, and when they may go on. `LinkOutput`
// asks for every frame it writes.

import NIOCore
import SDLProtocol

/// Counts the frames of each session number, whichever app has it: the head unit counts per session,
/// including heartbeats and the frames of messages (measured with sdl_core 8.2.0), and an app may have
/// several sessions. Pure: the caller tells the time and what has left.
///
/// A frame counts from when it is written until a second after it has left, not when it comes in: otherwise
/// frames that waited for a stalled link would go out in one burst, and the head unit would end the session
/// for it (measured with sdl_core 8.2.0: 950 Shows in one write are accepted, 1003 are not). Frames that the
/// head unit has taken but not read are beyond relayd's control, as they are beyond an app's.
struct SessionPacing {
    /// Frames in any second of a session; 0 for no limit.
    var limit: Int
    /// What is on its way.
    var epochs = LinkEpochs()
    /// Sessions that have sent all they may for now.
    private(set) var held = SessionSet()
    private var counts = ContiguousArray<EpochCount?>(repeating: nil, count: 256)

    init(limit: Int) {
        self.limit = limit
    }

    @inline(__always)
    func isHeld(_ session: UInt8) -> Bool { !held.isEmpty && held.contains(session) }

    /// Whether the session has sent all it may for now. Mutating only to avoid a copy.
    @inline(__always)
    mutating func isFull(_ session: UInt8, at now: NIODeadline) -> Bool {
        // Held sessions are let go in `release`, where it is known what has left.
        isHeld(session) || hasReachedLimit(session, at: now)
    }

    /// Counts one more frame of the session, which has just been written.
    ///
    /// - Returns: Whether the session is held from now on.
    @inline(__always)
    mutating func wrote(_ session: UInt8, at now: NIODeadline) -> Bool {
        guard limit > 0 else { return false }
        epochs.advance(to: now)
        let index = Int(session)
        if counts[index] == nil { counts[index] = EpochCount() }
        counts[index]?.add(in: epochs.current, over: epochs.over)
        return (counts[index]?.sum ?? 0) >= limit && hold(session)
    }

    private mutating func hold(_ session: UInt8) -> Bool {
        guard !held.contains(session) else { return false }
        held.insert(session)
        return true
    }

    /// - Returns: Sessions that were held and may go on.
    mutating func release(at now: NIODeadline) -> [UInt8] {
        guard !held.isEmpty else { return [] }
        let released = (UInt8.min...UInt8.max).filter {
            held.contains($0) && !hasReachedLimit($0, at: now)
        }
        for session in released { held.remove(session) }
        return released
    }

    /// Called when the link is gone; no session is held back on the next one.
    mutating func linkClosed(at now: NIODeadline) {
        held = SessionSet()
        epochs.linkClosed(at: now)
    }

    @inline(__always)
    private func hasReachedLimit(_ session: UInt8, at now: NIODeadline) -> Bool {
        guard limit > 0, let count = counts[Int(session)], count.sum >= limit else { return false }
        return Self.isOver(limit, count, epochs, at: now)
    }

    /// Works on copies, made only for a session that has reached its limit.
    @inline(never)
    private static func isOver(
        _ limit: Int, _ count: EpochCount, _ epochs: LinkEpochs, at now: NIODeadline
    ) -> Bool {
        var (count, epochs) = (count, epochs)
        epochs.advance(to: now)
        count.forget(upTo: epochs.over)
        return count.sum >= limit
    }
}
