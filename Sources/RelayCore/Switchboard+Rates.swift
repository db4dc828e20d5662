// How many frames of a session go to the head unit in a second, which ends sessions that send more.

import NIOCore
import SDLProtocol

extension Switchboard {
    /// Counted when a frame is written and until a second after it has left, not when it comes: what has
    /// waited for a link that stood still would else go out in one burst, and the head unit end the
    /// session for it (measured with sdl_core 8.2.0: 950 Shows in one write pass, 1003 do not). What the
    /// head unit has taken and not read is out of relayd's hands, as it is out of an app's.
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
        watchWhatLeaves()
    }

    /// While sessions are held or frames wait, the link is looked at in every slot of the rates.
    func watchWhatLeaves() {
        guard holdEnd == nil else { return }
        holdEnd = loop.assumeIsolated().scheduleTask(deadline: RateGuard.nextSlot(after: now)) {
            self.holdEnd = nil
            self.lookAtHeldSessions()
        }
    }

    private func lookAtHeldSessions() {
        beginRead()
        lookWhatLeft()
        let limit = configuration.framesPerSecond
        if !heldSessions.isEmpty {
            for session in UInt8.min...UInt8.max where heldSessions.contains(session) {
                guard !rates.isFull(session, limit: limit, at: now) else { continue }
                heldSessions.remove(session)
                scheduler.release(session)
            }
        }
        if heldSessions.isEmpty, !scheduler.hasReady { stopWatching() } else { watchWhatLeaves() }
        drainLink(mayLook: true)
        endRead()
    }

    private func lookWhatLeft() {
        let left = link.counters.bytesOut &- UInt64(clamping: linkBytesInFlight)
        rates.epochs.look(left: left, at: now)
        router.linkLooked(left: left, at: now)
    }

    private func stopWatching() {
        rates.epochs.stopWatching(at: now)
        router.linkUnwatched()
    }
}
