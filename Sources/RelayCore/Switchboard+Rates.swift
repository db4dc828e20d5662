// How many frames of a session go to the head unit in a second, which ends sessions that send more.

import NIOCore
import SDLProtocol

extension Switchboard {
    /// Counted when a frame is written, not when it comes: what has waited for a link that stood still
    /// would else go out in one burst, and the head unit end the session for it (measured with
    /// sdl_core 8.2.0: 950 Shows in one write pass, 1003 do not). What the kernel and the head unit
    /// have taken and not read is out of relayd's hands, as it is out of an app's.
    @inline(__always)
    func count(_ session: UInt8) {
        if rates.count(session, limit: configuration.framesPerSecond, at: now) { hold(session) }
    }

    /// Whether the session's rate lets the frame go at once.
    ///
    /// The end of a session and relayd's own words, a few at most, go beyond the limit unless something
    /// waits before them.
    @inline(__always)
    func mayGo(_ frame: Frame, from origin: Origin<AppHandler>) -> Bool {
        if heldSessions.isEmpty || !heldSessions.contains(frame.sessionID) { return true }
        if frame.service.isStream { return true }
        return (origin.isRelay || frame.controlType == .endService)
            && !scheduler.isWaiting(frame.sessionID)
    }

    @inline(never)
    func hold(_ session: UInt8) {
        guard !heldSessions.contains(session) else { return }
        heldSessions.insert(session)
        scheduler.hold(session)
        lookForStandstill()
    }

    /// While sessions are held or frames wait, the link is looked at in every slot of the rates.
    func lookForStandstill() {
        guard holdEnd == nil else { return }
        if heldLook == nil { noticeStandstill() }
        holdEnd = loop.assumeIsolated().scheduleTask(deadline: RateGuard.nextSlot(after: now)) {
            self.holdEnd = nil
            self.lookAtHeldSessions()
        }
    }

    private func lookAtHeldSessions() {
        beginRead()
        noticeStandstill()
        let limit = configuration.framesPerSecond
        if !heldSessions.isEmpty {
            for session in UInt8.min...UInt8.max where heldSessions.contains(session) {
                guard !rates.isFull(session, limit: limit, at: now) else { continue }
                heldSessions.remove(session)
                scheduler.release(session)
            }
        }
        if heldSessions.isEmpty, !scheduler.hasReady { heldLook = nil } else { lookForStandstill() }
        drainLink(mayLook: true)
        endRead()
    }

    private func noticeStandstill() {
        let inFlight = linkBytesInFlight
        let left = link.counters.bytesOut &- UInt64(clamping: inFlight)
        let look = StandstillLook(
            at: now, left: left, isOnWay: inFlight > 0, after: heldLook)
        if let stood = look.stood { rates.linkStood(for: stood) }
        heldLook = look
    }
}

/// What a look at the link tells of a standstill.
struct StandstillLook {
    let at: NIODeadline
    /// Bytes that had left for the head unit by then.
    let left: UInt64
    /// Some had been written and had not left.
    let isOnWay: Bool
    /// The same bytes were on their way at two looks: since the one before at the latest, none has left.
    let isStill: Bool
    /// None has left since the look before, when nothing was on its way. What is now may have been
    /// written a moment ago; if it is a standstill, the next look tells.
    let begunAt: NIODeadline?
    /// What the look adds to the time that does not count.
    let stood: TimeAmount?

    init(at: NIODeadline, left: UInt64, isOnWay: Bool, after last: StandstillLook?) {
        self.at = at
        self.left = left
        self.isOnWay = isOnWay
        guard let last else {
            (isStill, begunAt, stood) = (false, nil, nil)
            return
        }
        let hasNotMoved = isOnWay && left == last.left
        isStill = hasNotMoved && last.isOnWay
        begunAt = hasNotMoved && !last.isOnWay ? last.at : nil
        // It may have gone on at any moment since the last look.
        stood = isStill || last.isStill ? at - (isStill ? last.begunAt ?? last.at : last.at) : nil
    }
}
