import MessageFilters
import NIOCore
import SDLProtocol

/// Follows fault rules: decides for each frame whether it passes as it came, and keeps those that have to
/// wait. Pure: no sockets, no clock; `SDLLanguage` carries out the decisions.
///
/// Step by step: a frame comes, and passes if nothing waits and no rule takes its kind (`passAtOnce`).
/// Otherwise (`take`) the first rule that takes its message decides (+Rules), frames that have to wait stand
/// in the lane of their app, session and service (+Lanes), and `next` returns what is due, one after the
/// other. A rule takes whole messages: what it does to the first frame of a message it does to all. A frame
/// that no rule takes waits only if it is behind one that waits.
///
/// Generic over the handle of an app, as `SessionRouter` is.
struct FaultStage<App: FaultApp> {
    /// What the caller wants back with a frame that had to wait.
    struct Tag: Hashable {
        var fate = FrameFate.forwarded
        var grant: GrantMeaning?
    }

    enum Effect: Hashable {
        /// The frame goes on its way now.
        case pass(Frame, Direction, App, Tag)
        /// Not passed on.
        case drop(Frame, Direction, App, DropReason)
        /// The frame as it came; what is passed on instead is the next effect.
        case replace(Frame, Direction, App)
        /// A frame of relayd's to an app, in place of the head unit.
        case say(Frame, to: App)
        case disconnect(App, rule: UInt32)
        /// The rule has taken this many messages: 1, 2, 4, 8, …
        case report(rule: UInt32, hits: UInt64)
    }

    /// One rule and what it has done.
    struct Active {
        let id: UInt32
        let rule: FaultRule
        let addedAt: NIODeadline
        let addedTime: WallTime
        /// Messages that it could take.
        var matched: UInt64 = 0
        /// Messages that it took.
        var hits: UInt64 = 0
        /// When the next byte may pass, for a rate.
        var freeAt = NIODeadline.uptimeNanoseconds(0)

        var endsAt: NIODeadline? { rule.until.map { addedAt + $0 } }

        func isOn(at now: NIODeadline) -> Bool {
            if let count = rule.count, hits >= count { return false }
            if let from = rule.from, now < addedAt + from { return false }
            if let endsAt, now >= endsAt { return false }
            return true
        }
    }

    /// What happens to the rest of a message.
    struct Verdict {
        var rule: UInt32
        var action: FaultAction
        /// The RPC header of the message, for the answer to it.
        var header: RPCHeader?
        /// Whether the frame with the RPC header has come.
        var hasBegun = false
    }

    /// Where in its message a frame stands.
    private struct Place {
        /// Whether the frame ends the message.
        var isLast: Bool
        /// Whether the payload begins with the RPC header, if the message has one.
        var hasHeader: Bool

        static var alone: Self { Self(isLast: true, hasHeader: true) }
        static var first: Self { Self(isLast: false, hasHeader: false) }
    }

    struct MessageKey: Hashable {
        var lane: LaneKey
        var messageID: UInt32
    }

    /// A rule that may take a kind of message; if it is certain, nothing more need be checked.
    struct Candidate {
        var index: Int
        var isCertain: Bool
    }

    struct CandidateKey: Hashable {
        var app: App
        var header: UInt64
    }

    var rules: [Active] = []
    var dice: FaultDice
    var facts: [App: FaultAppFacts] = [:]
    var candidates: [CandidateKey: [Candidate]] = [:]
    /// Kinds of messages without candidates.
    var shortcut = FaultShortcut()
    var messages: [MessageKey: Verdict] = [:]
    var lanes: [LaneKey: Lane] = [:]
    /// When the first frame of all lanes is due; never later than the true time.
    var earliest = NIODeadline.distantFuture
    var effects = CircularBuffer<Effect>()
    /// Bytes that wait, by app and direction.
    var held: [App: Held] = [:]
    var answers: UInt32 = 0
    /// Counts the frames that the head unit gets of each app, so that frames released together are no flood.
    var guards: [App: RateGuard] = [:]
    /// The limit for an app; 0 allows all.
    private(set) var framesPerSecond: Int

    struct Held: Hashable {
        var fromApp = 0
        var toApp = 0
    }

    /// - Parameter framesPerSecond: How many frames of an app the head unit gets per second, streams not
    ///   counted; 0 allows all.
    init(dice: FaultDice, framesPerSecond: Int = 0) {
        self.dice = dice
        self.framesPerSecond = framesPerSecond
    }

    /// Sets another limit from now on. What has passed within the last second still counts.
    mutating func limit(to framesPerSecond: Int, at now: NIODeadline) {
        guard framesPerSecond != self.framesPerSecond else { return }
        self.framesPerSecond = framesPerSecond
        guards = guards.mapValues { passed in
            var next = RateGuard(limit: framesPerSecond)
            next.adopt(passed, at: now)
            return next
        }
    }

    /// Whether there are rules, but none of them has anything to do now.
    func isQuiet(at now: NIODeadline) -> Bool {
        effects.isEmpty && earliest > now && !rules.isEmpty
    }

    /// Whether there is no rule, and nothing that one has left behind: the stage may go.
    var isIdle: Bool { rules.isEmpty && lanes.isEmpty && messages.isEmpty && effects.isEmpty }

    // MARK: - A frame comes

    /// The short way, tried first: passes the frame as it came, and counts it as one that the head unit gets.
    ///
    /// - Returns: False when nothing has been done about the frame, and `take` decides.
    @inline(__always)
    mutating func passAtOnce(
        _ frame: Frame, _ direction: Direction, of app: App, at now: @autoclosure () -> NIODeadline
    ) -> Bool {
        guard isShort(frame, direction, of: app) else { return false }
        guard framesPerSecond > 0, direction == .fromApp else { return true }
        return allow(app, frame.service, at: now())
    }

    /// Whether nothing waits, and no rule takes the kind of the frame.
    @inline(__always)
    func isShort(_ frame: Frame, _ direction: Direction, of app: App) -> Bool {
        guard lanes.isEmpty, messages.isEmpty, effects.isEmpty else { return false }
        let kind = FaultShortcut.kind(of: frame, direction)
        return kind == FaultShortcut.consecutive || shortcut.knows(kind, of: app.faultNumber)
    }

    /// Decides about a frame. Anything else to be done comes from `next`.
    ///
    /// - Parameters:
    ///   - direction: Who sent it.
    ///   - app: Who sent it, or gets it.
    ///   - tag: Comes back with the frame if it passes later.
    ///   - isOwn: Whether the frame is relayd's own: no rule takes such frames, but they keep their place.
    /// - Returns: Whether the frame passes now, as it came.
    mutating func take(
        _ frame: Frame, _ direction: Direction, of app: App, at now: NIODeadline,
        tag: Tag = Tag(), isOwn: Bool = false
    ) -> Bool {
        if passAtOnce(frame, direction, of: app, at: now) { return true }
        let lane = LaneKey(
            app: app, direction: direction, session: frame.sessionID, service: frame.service)
        guard decide(frame, lane, tag, isOwn: isOwn, at: now) else { return false }
        guard !allow(lane, at: now) else { return true }
        wait(frame, in: lane, tag, Wait(until: RateGuard.nextSlot(after: now), rule: 0))
        return false
    }

    private mutating func decide(
        _ frame: Frame, _ lane: LaneKey, _ tag: Tag, isOwn: Bool, at now: NIODeadline
    ) -> Bool {
        let (app, direction) = (lane.app, lane.direction)
        if !lanes.isEmpty { settleUndecided(in: lane, before: frame, at: now) }
        guard !isOwn else { return passBehind(frame, lane, tag, at: now) }
        if direction == .fromApp { learn(frame, of: app) }
        switch frame.type {
        case .control, .single:
            let payload = frame.payload
            let header = FaultHeader(frame, direction, payload: payload)
            guard !candidates(for: header, of: app).isEmpty else {
                rememberUntaken(frame, direction, of: app)
                return passBehind(frame, lane, tag, at: now)
            }
            guard
                let index = chooseRule(
                    for: header, of: app, payload: payload, bytes: frame.payloadBytes, frame: frame,
                    at: now)
            else { return passBehind(frame, lane, tag, at: now) }
            let verdict = verdict(index, RPCHeader(payload))
            return apply(verdict, to: frame, lane, tag, .alone, at: now)
        case .first: return takeFirst(frame, lane, tag, at: now)
        case .consecutive: return takeConsecutive(frame, lane, tag, at: now)
        }
    }

    /// The RPC header, which tells what the message is, comes with the next frame; until then the first one
    /// waits if a rule needs to know.
    private mutating func takeFirst(
        _ frame: Frame, _ lane: LaneKey, _ tag: Tag, at now: NIODeadline
    ) -> Bool {
        guard let messageID = frame.messageID, messages.count < FaultLimits.messages else {
            return passBehind(frame, lane, tag, at: now)
        }
        let key = MessageKey(lane: lane, messageID: messageID)
        messages[key] = nil
        let header = FaultHeader(frame, lane.direction, payload: nil)
        guard !candidates(for: header, of: lane.app).isEmpty else {
            rememberUntaken(frame, lane.direction, of: lane.app)
            return passBehind(frame, lane, tag, at: now)
        }
        let bytes = frame.announcedBytes
        guard header.kind == .unknown else {
            guard
                let index = chooseRule(
                    for: header, of: lane.app, payload: ByteBuffer(), bytes: bytes, frame: frame,
                    at: now)
            else { return passBehind(frame, lane, tag, at: now) }
            return begin(key, verdict(index, nil), frame, lane, tag, at: now)
        }
        wait(
            frame, in: lane, tag,
            Wait(until: .distantFuture, rule: 0, undecided: messageID))
        return false
    }

    private mutating func takeConsecutive(
        _ frame: Frame, _ lane: LaneKey, _ tag: Tag, at now: NIODeadline
    ) -> Bool {
        guard let messageID = frame.messageID else {
            return passBehind(frame, lane, tag, at: now)
        }
        let key = MessageKey(lane: lane, messageID: messageID)
        let isLast = frame.info == 0
        if let first = takeUndecided(of: messageID, in: lane) {
            let payload = frame.payload
            let header = FaultHeader(frame, lane.direction, payload: payload)
            guard
                let index = chooseRule(
                    for: header, of: lane.app, payload: payload,
                    bytes: first.frame.announcedBytes, frame: first.frame, at: now)
            else {
                enqueue(first.frame, in: lane, first.tag, at: now)
                return passBehind(frame, lane, tag, at: now)
            }
            if begin(key, verdict(index, RPCHeader(payload)), first.frame, lane, first.tag, at: now)
            {
                enqueue(first.frame, in: lane, first.tag, at: now)
            }
        }
        guard let verdict = messages[key] else { return passBehind(frame, lane, tag, at: now) }
        if isLast { messages[key] = nil } else { messages[key]?.hasBegun = true }
        let place = Place(isLast: isLast, hasHeader: !verdict.hasBegun)
        return apply(verdict, to: frame, lane, tag, place, at: now)
    }

    /// Notes that no rule takes messages such as the frame is or begins: the next of its kind goes the short
    /// way.
    private mutating func rememberUntaken(_ frame: Frame, _ direction: Direction, of app: App) {
        let kind = FaultShortcut.kind(of: frame, direction)
        guard kind != 0, kind != FaultShortcut.consecutive else { return }
        shortcut.remember(kind, of: app.faultNumber)
    }

    private mutating func begin(
        _ key: MessageKey, _ verdict: Verdict, _ frame: Frame, _ lane: LaneKey, _ tag: Tag,
        at now: NIODeadline
    ) -> Bool {
        messages[key] = verdict
        return apply(verdict, to: frame, lane, tag, .first, at: now)
    }

    private func verdict(_ index: Int, _ header: RPCHeader?) -> Verdict {
        Verdict(rule: rules[index].id, action: rules[index].rule.action, header: header)
    }

    // MARK: - What a rule does

    private mutating func apply(
        _ verdict: Verdict, to frame: Frame, _ lane: LaneKey, _ tag: Tag, _ place: Place,
        at now: NIODeadline
    ) -> Bool {
        let rule = verdict.rule
        let reason = DropReason.fault(rule)
        switch verdict.action {
        case .delay(let time, let jitter):
            // The rest of a message follows its first frame.
            guard frame.type != .consecutive else { return passBehind(frame, lane, tag, at: now) }
            let extra =
                jitter > .zero
                ? TimeAmount.nanoseconds(Int64.random(in: 0...jitter.nanoseconds, using: &dice))
                : .zero
            wait(frame, in: lane, tag, Wait(until: now + time + extra, rule: rule))
        case .hold(let time):
            guard frame.type != .consecutive else { return passBehind(frame, lane, tag, at: now) }
            var until = now + (time ?? FaultLimits.longestHold)
            if let end = rules.first(where: { $0.id == rule })?.endsAt { until = min(until, end) }
            wait(frame, in: lane, tag, Wait(until: until, rule: rule, isHold: true))
        case .rate(let bytesPerSecond):
            let until = reserveTurn(for: frame, rule: rule, bytesPerSecond, at: now)
            guard until > now || lanes[lane] != nil else { return true }
            wait(frame, in: lane, tag, Wait(until: until, rule: rule))
        case .drop: effects.append(.drop(frame, lane.direction, lane.app, reason))
        case .answer(let code, let info):
            effects.append(.drop(frame, lane.direction, lane.app, reason))
            guard place.isLast, let header = verdict.header else { break }
            answers = answers &+ 1
            let answer = Frame.faultAnswer(
                to: header, in: frame, code: code, info: info,
                messageID: Self.answerMessageID | answers & 0xFFFF)
            effects.append(.say(answer, to: lane.app))
        case .nak(let words):
            effects.append(.drop(frame, lane.direction, lane.app, reason))
            let nak = Frame.startServiceNAK(of: frame, reason: words ?? "refused by a fault rule")
            effects.append(.say(nak, to: lane.app))
        case .disconnect:
            effects.append(.drop(frame, lane.direction, lane.app, reason))
            if frame.type != .consecutive {
                effects.append(.disconnect(lane.app, rule: rule))
            }
        case .corrupt:
            guard place.isLast,
                let changed = frame.corrupted(&dice, hasHeader: place.hasHeader)
            else {
                return passBehind(frame, lane, tag, at: now)
            }
            change(frame, to: changed, .corrupted, rule, lane, tag, at: now)
        case .truncate:
            guard place.isLast, let changed = frame.truncated else {
                return passBehind(frame, lane, tag, at: now)
            }
            change(frame, to: changed, .truncated, rule, lane, tag, at: now)
        case .duplicate:
            enqueue(frame, in: lane, tag, at: now)
            var again = tag
            again.fate = .faulted(FaultMark(rule: rule, kind: .repeated))
            again.grant = nil
            enqueue(frame, in: lane, again, at: now)
        case .reorder:
            // A message that waits already lets this one pass.
            guard lanes[lane]?.last?.wait.isReordered != true else {
                enqueue(frame, in: lane, tag, at: now)
                break
            }
            wait(
                frame, in: lane, tag,
                Wait(
                    until: now + FaultLimits.reorderPatience, rule: rule, isReordered: true))
        }
        return false
    }

    private mutating func change(
        _ frame: Frame, to changed: Frame, _ kind: FaultMark.Kind, _ rule: UInt32,
        _ lane: LaneKey, _ tag: Tag, at now: NIODeadline
    ) {
        var tag = tag
        tag.fate = .faulted(FaultMark(rule: rule, kind: kind))
        enqueue(changed, in: lane, tag, insteadOf: frame.keptCheaply, at: now)
    }

    /// Gives the frame the next turn at the rate of its rule.
    ///
    /// - Returns: When it may pass.
    private mutating func reserveTurn(
        for frame: Frame, rule: UInt32, _ bytesPerSecond: Int, at now: NIODeadline
    ) -> NIODeadline {
        guard let index = rules.firstIndex(where: { $0.id == rule }) else { return now }
        let free = max(rules[index].freeAt, now)
        let nanoseconds = frame.wire.readableBytes * 1_000_000_000 / max(bytesPerSecond, 1)
        let latest = now + FaultLimits.longestHold
        rules[index].freeAt = min(free + .nanoseconds(Int64(clamping: nanoseconds)), latest)
        return min(free, latest)
    }

    /// Whether the head unit may get one more frame of the lane now; if so, counts it.
    mutating func allow(_ lane: LaneKey, at now: NIODeadline) -> Bool {
        guard framesPerSecond > 0, lane.direction == .fromApp else { return true }
        return allow(lane.app, lane.service, at: now)
    }

    private mutating func allow(
        _ app: App, _ service: ServiceType, at now: NIODeadline
    ) -> Bool {
        service.isStream
            || guards[app, default: RateGuard(limit: framesPerSecond)].allow(at: now)
    }

    /// Head units count from 1, so theirs are never as high; injections begin above this range.
    private static var answerMessageID: UInt32 { Injections.messageIDs.lowerBound - 0x1_0000 }
}

extension Frame {
    /// Bytes of the message that a first frame announces.
    fileprivate var announcedBytes: Int {
        Int(payload.getInteger(at: payload.readerIndex, as: UInt32.self) ?? 0)
    }
}
