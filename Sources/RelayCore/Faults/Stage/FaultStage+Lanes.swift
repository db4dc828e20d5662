// Frames that wait, and when they go on.

import NIOCore
import SDLProtocol

extension FaultStage {
    /// Identifies the frames whose order is kept.
    struct LaneKey: Hashable {
        var app: App
        var direction: Direction
        var session: UInt8
        var service: ServiceType
    }

    struct Wait {
        var until: NIODeadline
        /// The rule that it waits for; 0 for none.
        var rule: UInt32
        /// Whether a hold keeps the frame, or one that it waits behind: then it is dropped when its app hangs up.
        var isHold = false
        /// Whether the next message of the lane goes before it.
        var isReordered = false
        /// The message that it begins, whose kind is not known yet.
        var undecided: UInt32?
    }

    struct Entry {
        var frame: Frame
        var tag: Tag
        var wait: Wait
        /// The frame as it came, if a rule has changed it.
        var original: Frame?
    }

    typealias Lane = CircularBuffer<Entry>

    // MARK: - Into a lane

    /// Lets a frame that no rule takes pass at once, unless others wait before it.
    mutating func passBehind(
        _ frame: Frame, _ lane: LaneKey, _ tag: Tag, at now: NIODeadline
    ) -> Bool {
        guard !lanes.isEmpty, lanes[lane] != nil else { return true }
        enqueue(frame, in: lane, tag, at: now)
        return false
    }

    /// Queues a frame that passes as soon as those before it have.
    mutating func enqueue(
        _ frame: Frame, in lane: LaneKey, _ tag: Tag, insteadOf original: Frame? = nil,
        at now: NIODeadline
    ) {
        let before = lanes[lane]?.last?.wait
        wait(
            frame, in: lane, tag,
            Wait(until: now, rule: before?.rule ?? 0, isHold: before?.isHold ?? false),
            insteadOf: original)
    }

    mutating func wait(
        _ frame: Frame, in lane: LaneKey, _ tag: Tag, _ wait: Wait,
        insteadOf original: Frame? = nil
    ) {
        let entry = Entry(frame: frame.keptCheaply, tag: tag, wait: wait, original: original)
        count(entry, in: lane, 1)
        var queue = lanes.removeValue(forKey: lane) ?? Lane()
        if let last = queue.last, last.wait.isReordered {
            queue[queue.index(before: queue.endIndex)].wait.isReordered = false
            if frame.type == .single {
                // The reordered message changes places with this one, and follows it at once.
                var passed = last
                passed.wait.isReordered = false
                passed.wait.until = .uptimeNanoseconds(0)
                passed.tag.fate = .faulted(FaultMark(rule: last.wait.rule, kind: .reordered))
                queue.removeLast()
                queue.append(entry)
                queue.append(passed)
            } else {
                queue[queue.index(before: queue.endIndex)].wait.until = .uptimeNanoseconds(0)
                queue.append(entry)
            }
        } else {
            queue.append(entry)
        }
        if let first = queue.first { earliest = min(earliest, first.wait.until) }
        lanes[lane] = queue
    }

    private mutating func count(_ entry: Entry, in lane: LaneKey, _ sign: Int) {
        let bytes = entry.frame.wire.readableBytes * sign
        var sum = held[lane.app] ?? Held()
        if lane.direction == .fromApp { sum.fromApp += bytes } else { sum.toApp += bytes }
        held[lane.app] = sum == Held() ? nil : sum
    }

    // MARK: - Messages of unknown kind

    /// Another frame comes where the rest of a message was expected: that message passes as if no rule took
    /// it.
    mutating func settleUndecided(in lane: LaneKey, before frame: Frame, at now: NIODeadline) {
        guard let last = lanes[lane]?.last, let messageID = last.wait.undecided,
            frame.type != .consecutive || frame.messageID != messageID
        else { return }
        release(lane, at: now) { $0.undecided != nil }
    }

    mutating func takeUndecided(of messageID: UInt32, in lane: LaneKey) -> Entry? {
        guard !lanes.isEmpty, let last = lanes[lane]?.last, last.wait.undecided == messageID else {
            return nil
        }
        lanes[lane]?.removeLast()
        if lanes[lane]?.isEmpty == true { lanes[lane] = nil }
        count(last, in: lane, -1)
        return last
    }

    // MARK: - Out of a lane

    /// What to do next; nil when nothing is due.
    mutating func next(at now: NIODeadline) -> Effect? {
        if let effect = effects.popFirst() { return effect }
        while earliest <= now {
            if let effect = nextDue(at: now) { return effect }
        }
        return nil
    }

    /// The frame that has been due longest; nil when there is none, or it has to wait once more.
    private mutating func nextDue(at now: NIODeadline) -> Effect? {
        var due: (key: LaneKey, until: NIODeadline)?
        var later = NIODeadline.distantFuture
        for (key, lane) in lanes {
            guard let until = lane.first?.wait.until else { continue }
            if until <= now, until < due?.until ?? .distantFuture {
                if let due { later = min(later, due.until) }
                due = (key, until)
            } else {
                later = min(later, until)
            }
        }
        guard let due else {
            earliest = later
            return nil
        }
        guard allow(due.key, at: now) else {
            let slot = RateGuard.nextSlot(after: now)
            if let first = lanes[due.key]?.startIndex { lanes[due.key]?[first].wait.until = slot }
            earliest = min(later, slot)
            return nil
        }
        guard let entry = lanes[due.key]?.popFirst() else {
            earliest = later
            return nil
        }
        if let first = lanes[due.key]?.first {
            earliest = min(later, first.wait.until)
        } else {
            lanes[due.key] = nil
            earliest = later
        }
        count(entry, in: due.key, -1)
        var tag = entry.tag
        if tag.fate == .forwarded, entry.wait.rule != 0 {
            tag.fate = .faulted(FaultMark(rule: entry.wait.rule, kind: .held))
        }
        let pass = Effect.pass(entry.frame, due.key.direction, due.key.app, tag)
        guard let original = entry.original else { return pass }
        effects.prepend(pass)
        return .replace(original, due.key.direction, due.key.app)
    }

    /// When `next` has something to do; nil while there is nothing.
    var nextDeadline: NIODeadline? {
        if !effects.isEmpty { return .uptimeNanoseconds(0) }
        return earliest == .distantFuture ? nil : earliest
    }

    /// Ends the wait of the frames that `isMeant` selects: they pass as soon as those before them have.
    mutating func release(at now: NIODeadline, _ isMeant: (Wait) -> Bool) {
        for lane in Array(lanes.keys) { release(lane, at: now, isMeant) }
    }

    private mutating func release(
        _ lane: LaneKey, at now: NIODeadline, _ isMeant: (Wait) -> Bool
    ) {
        guard var queue = lanes.removeValue(forKey: lane) else { return }
        for index in queue.indices where isMeant(queue[index].wait) {
            queue[index].wait.until = min(queue[index].wait.until, now)
            queue[index].wait.undecided = nil
            queue[index].wait.isReordered = false
            queue[index].wait.isHold = false
        }
        if let first = queue.first { earliest = min(earliest, first.wait.until) }
        lanes[lane] = queue
    }

    // MARK: - Apps, sessions and links end

    /// The app has hung up. Its frames that a delay or a rate holds pass now, in order; those that a hold
    /// keeps, and all behind them, are dropped. Nothing reaches the app any more.
    mutating func hungUp(_ app: App, at now: NIODeadline) {
        for lane in Array(lanes.keys) where lane.app == app {
            guard lane.direction == .fromApp else {
                drop(lane) { .fault($0.rule) }
                continue
            }
            if let index = lanes[lane]?.firstIndex(where: { $0.wait.isHold && $0.wait.until > now })
            {
                drop(lane, from: index) { .fault($0.rule) }
            }
            release(lane, at: now) { _ in true }
        }
    }

    /// Forgets the app, and drops what still waits from it or for it.
    mutating func forget(_ app: App) {
        for lane in Array(lanes.keys) where lane.app == app { drop(lane) { .fault($0.rule) } }
        messages = messages.filter { $0.key.lane.app != app }
        candidates = candidates.filter { $0.key.app != app }
        facts[app] = nil
        held[app] = nil
        guards[app] = nil
    }

    /// The session is over: what apps have said in it must not reach whoever gets its number next.
    mutating func sessionIsOver(_ session: UInt8) {
        for lane in Array(lanes.keys)
        where lane.direction == .fromApp && lane.session == session && session != 0 {
            drop(lane) { _ in .sessionOver(session) }
        }
        messages = messages.filter {
            $0.key.lane.direction != .fromApp || $0.key.lane.session != session
        }
    }

    /// The link is gone: what apps have said has nowhere to go.
    mutating func linkClosed() {
        for lane in Array(lanes.keys) where lane.direction == .fromApp {
            drop(lane) { _ in .noLink }
        }
        messages = messages.filter { $0.key.lane.direction != .fromApp }
        for index in rules.indices { rules[index].freeAt = .uptimeNanoseconds(0) }
    }

    private mutating func drop(
        _ lane: LaneKey, from start: Lane.Index? = nil, because reason: (Wait) -> DropReason
    ) {
        guard var queue = lanes.removeValue(forKey: lane) else { return }
        let range = (start ?? queue.startIndex)..<queue.endIndex
        for entry in queue[range] {
            count(entry, in: lane, -1)
            // An extra copy is no loss.
            guard !entry.tag.fate.isRepeated else { continue }
            // The frame that came is lost, whatever a rule has made of it.
            let lost = entry.original ?? entry.frame
            effects.append(.drop(lost, lane.direction, lane.app, reason(entry.wait)))
        }
        queue.removeSubrange(range)
        if !queue.isEmpty { lanes[lane] = queue }
    }

    // MARK: - Bounds

    /// Bytes from an app that wait.
    func heldBytes(from app: App) -> Int { held[app]?.fromApp ?? 0 }
    /// Bytes for an app that wait.
    func heldBytes(to app: App) -> Int { held[app]?.toApp ?? 0 }
    var heldBytes: Int { held.values.reduce(0) { $0 + $1.fromApp + $1.toApp } }
    var heldFrames: Int { lanes.values.reduce(0) { $0 + $1.count } }

    /// As much waits for the app as may: lets all of it pass.
    mutating func giveUp(for app: App, at now: NIODeadline) {
        for lane in Array(lanes.keys) where lane.app == app && lane.direction == .fromAccessory {
            release(lane, at: now) { _ in true }
        }
    }
}
