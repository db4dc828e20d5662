// What sdl_core counts and ends sessions or connections for: floods, malformed frames, silence.

import NIOCore
import SDLProtocol

extension SDLCoreModel {
    /// Counts a frame for its session; false when the frame is not to be handled because the whole
    /// connection was ended.
    mutating func count(_ frame: Frame, on id: ConnectionID) -> Bool {
        guard !frame.service.isStream else { return true }
        let number = frame.sessionID
        if number == 0 {
            let frames = connections[id]?.sessionZero.add(now, within: .seconds(1)) ?? 0
            guard frames > habits.framesPerSecond else { return true }
            counters.floods += 1
            close(id, unexpected: true)
            return false
        }
        guard sessions[number]?.connection == id,
            let frames = sessions[number]?.frameTimes.add(now, within: .seconds(1)),
            frames > habits.framesPerSecond
        else { return true }
        counters.floods += 1
        end(number, reason: "TOO_MANY_REQUESTS")
        return true
    }

    /// Counts a malformed frame; one too many ends the connection for all its apps, after a moment.
    mutating func countMalformed(on id: ConnectionID) {
        counters.malformed += 1
        let count = connections[id]?.malformed.add(now, within: .seconds(1)) ?? 0
        guard count == habits.malformedPerSecond + 1 else { return }
        schedule(.malformed(id), in: habits.malformedDelay)
    }

    /// sdl_core compares milliseconds with the ini's seconds, so 100 in 10 s are 100 in 10 ms.
    ///
    /// - Returns: Whether there are too many.
    mutating func countRequestInNone(_ number: UInt8) -> Bool {
        guard sessions[number]?.app?.level == HMILevel.none,
            let count = sessions[number]?.requestTimes.add(now, within: .milliseconds(10))
        else { return false }
        return count > habits.requestsInNone
    }

    // MARK: - Heartbeats

    /// Any frame of a session shows that its app is alive. The app's first heartbeat starts the watch.
    mutating func hear(_ frame: Frame) {
        let number = frame.sessionID
        guard sessions[number] != nil else { return }
        if frame.controlType == .heartbeat, sessions[number]?.heartbeat == nil {
            sessions[number]?.heartbeat = Heartbeat(silentSince: now)
            beating.insert(number)
        } else if let connection = sessions[number]?.connection,
            connection <= habits.heartbeatConnections, sessions[number]?.heartbeat != nil
        {
            sessions[number]?.heartbeat = Heartbeat(silentSince: now)
        }
    }

    var nextHeartbeat: (session: UInt8, due: NIODeadline)? {
        var next: (session: UInt8, due: NIODeadline)?
        for number in beating {
            guard let heartbeat = sessions[number]?.heartbeat else { continue }
            let due = heartbeat.silentSince + habits.heartbeatTimeout
            if let other = next, (other.due, other.session) < (due, number) { continue }
            next = (number, due)
        }
        return next
    }

    mutating func beat() {
        guard let (number, due) = nextHeartbeat, let session = sessions[number],
            let heartbeat = session.heartbeat
        else { return }
        guard !heartbeat.isSent else {
            sendControl(.endService, session: number, cause: session.life)
            return free(number, unexpected: true)
        }
        sessions[number]?.heartbeat = Heartbeat(silentSince: due, isSent: true)
        sendControl(.heartbeat, service: .control, session: number, cause: session.life)
    }
}
