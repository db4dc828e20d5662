// Finds the recorded request that matches a live one, and when its answer is due.

import NIOCore
import SDLProtocol

extension RecordedHeadUnit {
    /// Answers all questions that can be answered with what has been read so far.
    mutating func decide() {
        decideStarts()
        for key in sessions.keys.sorted() {
            while let asked = sessions[key]?.asked.first, decide(asked, key) {
                if sessions[key]?.asked.isEmpty == false { sessions[key]?.asked.removeFirst() }
            }
        }
        if isFull, let starved = starvedLane { makeRoom(for: starved) }
    }

    // MARK: Sessions

    private mutating func decideStarts() {
        while let (frame, at) = starts.first {
            if let lane = nextFreeLane {
                starts.removeFirst()
                hasRestarted = false
                start(lane, frame, at: at)
            } else if wantsMore || wantsRestart {
                return
            } else if options.loops, hasEnded, !hasRestarted {
                wantsRestart = true
                return
            } else {
                starts.removeFirst()
                tell(
                    .noSession, "an app",
                    "it asks for a session, and all \(nextLane) of the recording have had theirs"
                        + (options.loops ? "" : "; loop=on begins the recording again"))
                refuse(frame, "the recording has no further session")
            }
        }
    }

    /// The next free session, in the order in which the sessions were asked for.
    private var nextFreeLane: Int? {
        lanes.values.filter { !$0.isTaken && $0.grant != nil }.map(\.number).min()
    }

    private mutating func start(_ number: Int, _ frame: Frame, at: NIODeadline) {
        guard let grant = lanes[number]?.grant else { return }
        lanes[number]?.isTaken = true
        if case .control(.startServiceNAK) = grant.message.kind {
            for refusal in grant.message.frames(
                session: frame.sessionID, messageID: frame.messageID ?? 0)
            {
                output.frames.append(refusal)
            }
            remove(lane: number)
            return
        }
        guard let key = open(lane: number, version: grant.message.version) else {
            lanes[number]?.isTaken = false
            refuse(frame, "all 255 sessions are in use")
            return
        }
        hold(grant.message)
        schedule(grant, since: RecordedLane.Met(at: at), key)
        meet(cue: 0, RecordedLane.Met(at: at), key)
    }

    // MARK: Questions

    /// - Returns: False when more of the recording has to be read first.
    private mutating func decide(_ asked: LiveSession.Asked, _ key: Int) -> Bool {
        if let registration = asked.registration, sessions[key]?.isRegistered == false {
            guard identify(registration, key) else { return false }
            sessions[key]?.isRegistered = true
        }
        guard let number = sessions[key]?.lane, let isWhole = lanes[number]?.isWhole else {
            return true
        }
        guard
            let (index, isSame) = lanes[number]?.firstUnmet(asked.question, asked.fingerprint)
        else {
            guard isWhole || !wantsMore && !makeRoom(for: number) else { return false }
            answerUnknown(asked, key)
            return true
        }
        if !isSame { tellOfParameters(asked, number) }
        let isGoodbye = asked.question == .control(.endService, .rpc)
        meet(cue: index, .init(at: asked.at, correlationID: asked.correlationID), key)
        if isGoodbye { sessions[key]?.isEnding = true }
        return true
    }

    private mutating func tellOfParameters(_ asked: LiveSession.Asked, _ number: Int) {
        // A registering app is identified by `identify`.
        guard let lane = lanes[number], asked.registration == nil,
            lanes[number]?.toldOfParameters.insert(asked.question).inserted == true
        else { return }
        tell(
            .otherParameters, lane.name,
            "\(asked.functionName) came with other parameters than in the recording; "
                + "it was answered as then")
    }

    private mutating func meet(cue index: Int, _ met: RecordedLane.Met, _ key: Int) {
        guard let number = sessions[key]?.lane, let cue = lanes[number]?.cues[index] else {
            return
        }
        lanes[number]?.cues[index].met = met
        lanes[number]?.cues[index].lines = []
        if cue.isHeld {
            lanes[number]?.cues[index].isHeld = false
            held.steps -= 1
        }
        for line in cue.lines { schedule(line, since: met, key) }
        lanes[number]?.tidy()
    }

    /// Schedules a message, which is held until it is sent.
    mutating func schedule(_ line: RecordedLane.Line, since met: RecordedLane.Met, _ key: Int) {
        var message = line.message
        release(message)
        if line.isAnswer, let correlationID = met.correlationID {
            message = message.correlated(correlationID)
        }
        hold(message)
        let at = met.at + options.speed.scaled(line.delay)
        due.add(.init(at: max(at, now), session: key, message: message))
        sessions[key]?.dueCount += 1
    }

    mutating func sendDue() {
        while let next = due.next(at: now) {
            release(next.message)
            guard let id = sessions[next.session]?.id,
                let messageID = sessions[next.session]?.takeMessageID()
            else { continue }
            sessions[next.session]?.dueCount -= 1
            sessions[next.session]?.version = next.message.version
            output.frames += next.message.frames(session: id, messageID: messageID)
            sessions[next.session]?.stirred = now
            sent(next.message, next.session)
        }
        for session in sessions.values where session.isEnding && session.dueCount == 0 {
            // A recording may end with an unanswered goodbye.
            if lanes[session.lane]?.isWhole != false || !wantsMore { close(session.key) }
        }
    }

    private mutating func sent(_ message: RecordedMessage, _ key: Int) {
        if sessions[key]?.isOnScreen == false, message.isActivation {
            sessions[key]?.isOnScreen = true
        }
        guard sessions[key]?.isEnding == true, message.service == .rpc else { return }
        switch message.kind {
        case .control(.endServiceACK): close(key)
        case .control(.endServiceNAK): sessions[key]?.isEnding = false
        default: break
        }
    }

    // MARK: Identification

    /// Gives a session the recorded part of the app that registers in it: apps may come in another order.
    ///
    /// - Returns: False when more of the recording has to be read first.
    private mutating func identify(_ registration: RecordedRegistration, _ key: Int) -> Bool {
        guard let number = sessions[key]?.lane, let lane = lanes[number] else { return true }
        guard let recorded = lane.registration else { return lane.isWhole || !wantsMore }
        if Self.fits(recorded, registration) { return true }
        guard let other = laneThatFits(registration, except: number) else {
            if wantsMore { return false }
            tell(
                .otherApp, registration.name,
                "the recording has no app of that name; it gets the answers of \(lane.name)")
            return true
        }
        if let holder = session(of: other) {
            sessions[holder]?.lane = number
        } else {
            // Its first question has been asked already.
            let met = lane.cues.first { $0.question == .control(.startService, .rpc) }?.met
            lanes[number]?.isTaken = false
            lanes[number]?.restoreStart()
            lanes[other]?.isTaken = true
            sessions[key]?.lane = other
            meet(cue: 0, met ?? .init(at: now), key)
            return true
        }
        sessions[key]?.lane = other
        return true
    }

    private static func fits(
        _ recorded: RecordedRegistration, _ live: RecordedRegistration
    ) -> Bool {
        recorded.appID == live.appID && !live.appID.isEmpty || recorded.name == live.name
    }

    /// A recorded session of that app which is free, or taken by an app that has not registered yet.
    private func laneThatFits(_ registration: RecordedRegistration, except number: Int) -> Int? {
        let candidates = lanes.values.filter { lane in
            guard lane.number != number, lane.isGranted, let recorded = lane.registration,
                Self.fits(recorded, registration)
            else { return false }
            guard lane.isTaken else { return true }
            return sessions.values.contains { $0.lane == lane.number && !$0.isRegistered }
        }
        let exact = candidates.filter { $0.registration?.appID == registration.appID }
        return (exact.isEmpty ? candidates : exact).map(\.number).min()
    }

    // MARK: Read-ahead limit

    /// A session that has used up its part as far as it was read, while others fill the read-ahead limit.
    private var starvedLane: Int? {
        sessions.values.first { session in
            guard let lane = lanes[session.lane] else { return false }
            return !lane.isWhole && !lane.hasUnmetCues && session.dueCount == 0
        }?.lane
    }

    /// Drops messages that other apps do not need soon, so that reading can go on: first recorded sessions
    /// that no app has taken, then half of the questions that another app could still ask.
    ///
    /// - Returns: False when there is nothing to drop.
    @discardableResult
    private mutating func makeRoom(for number: Int) -> Bool {
        guard !hasEnded, isFull else { return false }
        let others = lanes.values.filter { $0.number != number && $0.waitingCues > 1 }
        guard
            let largest = others.max(by: {
                ($0.isTaken ? 0 : 1, $0.waitingCues) < ($1.isTaken ? 0 : 1, $1.waitingCues)
            })
        else { return false }
        if largest.isTaken {
            passOver(largest, largest.waitingCues / 2)
        } else {
            remove(lane: largest.number)
            tell(
                .passedOver, largest.name,
                "no app asked for it before the replay's memory was full; it can no longer be replayed"
            )
        }
        return wantsMore
    }

    private mutating func passOver(_ lane: RecordedLane, _ count: Int) {
        var left = count
        var kept: [RecordedLane.Cue] = []
        for cue in lane.cues {
            if cue.met == nil, left > 0 {
                left -= 1
                release(cue)
            } else {
                kept.append(cue)
            }
        }
        lanes[lane.number]?.cues = kept
        tell(
            .passedOver, lane.name,
            "\(count) recorded questions were passed over, because the app is far behind others")
    }
}

extension RecordedLane {
    var waitingCues: Int { cues.count { $0.met == nil } }

    var isGranted: Bool {
        if case .control(.startServiceACK)? = grant?.message.kind { true } else { false }
    }

    /// Makes the session available to another app, as if none had taken it.
    mutating func restoreStart() {
        let start = RecordedQuestion.control(.startService, .rpc)
        if let index = cues.firstIndex(where: { $0.question == start && $0.met != nil }) {
            cues[index].met = nil
        } else {
            var cue = Cue(question: start, time: cues.first?.time ?? 0)
            cue.isAnswered = true
            cue.isHeld = false
            cues.insert(cue, at: 0)
        }
    }
}
