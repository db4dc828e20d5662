// Step 3 of `TrafficDecoder`, and the handling of unfinished items when time passes or a session, a service
// or the link ends: streams are summed up, partial messages dropped, late answers reported.

import RelayCore
import SDLAdvice
import SDLProtocol

extension TrafficDecoder {
    // MARK: Streams

    mutating func count(_ tapped: TappedFrame, into entries: inout [TrafficEntry]) {
        let key = StreamKey(
            sessionID: tapped.frame.sessionID, service: tapped.frame.service,
            direction: tapped.direction)
        var counter = streams[key] ?? StreamCounter(at: tapped.time)
        if counter.isDue(at: tapped.time) {
            entries.append(entry(key, counter.app, counter.take(isFinal: false)))
        }
        counter.count(tapped)
        streams[key] = counter
    }

    /// Ends the streams of a session, or of all sessions if nil, or only those of one service.
    mutating func endStreams(
        _ session: UInt8?, _ service: ServiceType?, into entries: inout [TrafficEntry]
    ) {
        guard !streams.isEmpty else { return }
        let ended = streams.keys.filter {
            (session == nil || $0.sessionID == session)
                && (service == nil || $0.service == service)
        }
        for key in ended.sorted() {
            guard var counter = streams.removeValue(forKey: key) else { continue }
            entries.append(entry(key, counter.app, counter.take(isFinal: true)))
        }
    }

    /// At the end of the traffic, as in a recording: reports what was counted and not reported yet.
    package mutating func finish(into entries: inout [TrafficEntry]) {
        for key in streams.keys.sorted() {
            guard let summary = streams[key]?.take(isFinal: false), summary.frames > 0 else {
                continue
            }
            entries.append(entry(key, streams[key]?.app, summary))
        }
        for (key, sum) in drops.takeAll() { entries.append(entry(key, sum)) }
    }

    // MARK: Ends

    /// Sums up the unfinished items of a session, or of the link if nil.
    mutating func end(
        _ session: UInt8?, _ service: ServiceType? = nil, into entries: inout [TrafficEntry]
    ) {
        endStreams(session, service, into: &entries)
        guard service == nil else { return }
        for (message, problem) in fromApp.abandon(session: session) {
            entries.append(broken(message, problem, .fromApp))
        }
        for (message, problem) in fromAccessory.abandon(session: session) {
            entries.append(broken(message, problem, .fromAccessory))
        }
        validation?.forget(session)
        if let session {
            sessions.pending[session] = nil
        } else {
            sessions.pending = [:]
            largeFrames = [:]
        }
    }

    /// Reports what has become due with the passing of time.
    mutating func sweep(into entries: inout [TrafficEntry]) {
        for (key, start) in starts.takeLate(at: now.nanoseconds) {
            var entry = entry(
                .event(.unansweredStart(waited: now.nanoseconds &- start.time.nanoseconds)),
                app: key.app, session: start.sessionID, service: key.service,
                direction: .fromApp, bytes: 0, frames: 0)
            let fault = starts.fault(start, at: now)
            entry.startFault =
                fault == .headUnit ? sessions.fault(key.service, of: start.sessionID) : fault
            entries.append(entry)
        }
        for session in sessions.lateSessions(at: now.nanoseconds) {
            for late in sessions.pending[session]?.takeLate(at: now.nanoseconds) ?? [] {
                let waited = now.nanoseconds &- late.time.nanoseconds
                entries.append(
                    entry(
                        .event(.unanswered(late, waited: waited)), app: sessions.app(session),
                        session: session, service: .rpc, direction: late.direction, bytes: 0,
                        frames: 0))
            }
        }
        if !streams.isEmpty {
            for key in streams.keys.sorted() where streams[key]?.isDue(at: now) == true {
                guard let summary = streams[key]?.take(isFinal: false) else { continue }
                entries.append(entry(key, streams[key]?.app, summary))
            }
        }
        for (message, problem) in fromApp.expire(at: now.nanoseconds) {
            entries.append(broken(message, problem, .fromApp))
        }
        for (message, problem) in fromAccessory.expire(at: now.nanoseconds) {
            entries.append(broken(message, problem, .fromAccessory))
        }
        for (key, sum) in drops.takeDue(at: now) { entries.append(entry(key, sum)) }
    }

    private mutating func entry(_ key: DropCounter.Key, _ sum: DropCounter.Sum) -> TrafficEntry {
        var entry = entry(
            .dropped(DroppedEntry(reason: key.reason)), app: key.app, session: nil,
            service: nil, direction: key.direction, bytes: sum.bytes, frames: sum.frames)
        entry.fate = .dropped(key.reason)
        return entry
    }
}
