package import NIOCore
import RelayCore
package import SDLProtocol

/// The head unit of a recording, which answers live apps as it did in the recording.
///
/// It follows the conversation, not the clock. A request of the app is matched with the recorded requests for
/// the same function in its session: the oldest with the same parameters, or else the oldest, which is
/// reported. The request gets the recorded answer. A notification comes as long after the app's latest
/// request as it did in the recording. A request that is not in the recording is refused as a head unit would
/// refuse it, and reported as a divergence.
///
/// A value without files, sockets or clocks: steps of the recording are fed in as they are read, frames as
/// they come; frames come out. `Limits` bounds how much of the read-ahead is kept.
package struct RecordedHeadUnit: Sendable {
    package struct Options: Hashable, Sendable {
        package var speed = ReplaySpeed.factor(1)
        /// Whether the recording begins again when every recorded session has had its app.
        package var loops = false
        package var limits = Limits()

        package init() {}
    }

    /// Limits of the read-ahead in messages and in bytes: each question is searched for in all of it.
    package struct Limits: Hashable, Sendable {
        package var steps = 16_384
        package var bytes = 64 << 20

        package init() {}
    }

    /// The results of an event.
    package struct Output: Sendable {
        /// To be sent, in this order.
        package var frames: [Frame] = []
        package var divergences: [Divergence] = []
    }

    package let options: Options
    var lanes: [Int: RecordedLane] = [:]
    var sessions: [Int: LiveSession] = [:]
    /// The keys of the running sessions.
    var keys: [UInt8: Int] = [:]
    /// StartServices that are not answered yet.
    var starts: [(frame: Frame, at: NIODeadline)] = []
    var due = DueMessages()
    var held = (steps: 0, bytes: 0)
    var hasEnded = false
    /// The number of the recording's first session, when it is read again.
    private var firstLane = 0
    var nextLane = 0
    private var nextKey = 0
    /// Whether the recording has to be read again from its beginning.
    package internal(set) var wantsRestart = false
    /// No session fitted even though the recording was read again.
    var hasRestarted = false
    /// When the next waiting app is put on the screen.
    var nextActivation: NIODeadline?
    var now = NIODeadline.uptimeNanoseconds(0)
    var output = Output()
    /// Parameters that were overwritten in the recording; requests match whatever their values are.
    package var masked: [String] = []
    private var toldDivergences = 0

    /// Divergences that are reported in words; further ones tell nothing new.
    package static let maximumDivergences = 1000
    /// Maximum apps that wait for a session.
    static let maximumStarts = 255

    package init(_ options: Options = Options()) { self.options = options }

    // MARK: The recording

    /// Whether more of the recording should be read.
    package var wantsMore: Bool { !hasEnded && !isFull }

    var isFull: Bool {
        held.steps >= options.limits.steps || held.bytes >= options.limits.bytes
    }

    /// Takes the steps that were read next.
    ///
    /// - Parameter isLast: Whether nothing follows.
    package mutating func feed(
        _ steps: [RecordedStep], isLast: Bool, at now: NIODeadline
    ) -> Output {
        perform(at: now) { unit in
            for step in steps { unit.read(step) }
            if isLast {
                unit.hasEnded = true
                for number in unit.lanes.keys { unit.lanes[number]?.isWhole = true }
            }
        }
    }

    /// Starts over: the recording is read again from its beginning, as `wantsRestart` requested.
    package mutating func restart() {
        wantsRestart = false
        hasRestarted = true
        hasEnded = false
        firstLane = nextLane
    }

    private mutating func read(_ step: RecordedStep) {
        let (number, overflow) = firstLane.addingReportingOverflow(step.lane)
        guard !overflow else { return }
        switch step.content {
        case .began:
            lanes[number] = RecordedLane(number: number)
            nextLane = max(nextLane, number + 1)
            // A truncated recording has no question.
            lanes[number]?.cues = [
                RecordedLane.Cue(
                    question: .control(.startService, .rpc), time: step.time.nanoseconds)
            ]
            held.steps += 1
        case .ended: lanes[number]?.isWhole = true
        case .fromApp(let message): ask(message, step, number)
        case .fromHeadUnit(let message): say(message, step, number)
        }
    }

    private mutating func ask(_ message: RecordedMessage, _ step: RecordedStep, _ number: Int) {
        guard let question = message.question, lanes[number] != nil else { return }
        // This question began the lane.
        if question == .control(.startService, .rpc), lanes[number]?.grant == nil { return }
        if let registration = step.registration, lanes[number]?.registration == nil {
            lanes[number]?.registration = registration
        }
        var cue = RecordedLane.Cue(
            question: question, fingerprint: step.fingerprint, time: step.time.nanoseconds)
        if case .rpc(_, _, let correlationID) = message.kind { cue.correlationID = correlationID }
        lanes[number]?.questions.insert(question)
        // It was kept because it was the last.
        let isLastMet = lanes[number]?.cues.last?.met != nil
        lanes[number]?.cues.append(cue)
        if isLastMet { lanes[number]?.tidy() }
        held.steps += 1
    }

    private mutating func say(_ message: RecordedMessage, _ step: RecordedStep, _ number: Int) {
        switch message.kind {
        // Heartbeats are answered when they come.
        case .control(.heartbeatACK), .stream: return
        default: break
        }
        // Keeping a copy of the lane's cues while they change would copy them all.
        guard let (index, isAnswer) = lanes[number]?.cue(of: message),
            let cue = lanes[number]?.cues[index]
        else { return }
        let delay = step.time.nanoseconds.subtractingReportingOverflow(cue.time)
        let line = RecordedLane.Line(
            delay: delay.overflow ? 0 : max(0, delay.partialValue), message: message,
            isAnswer: isAnswer)
        hold(message)
        if isAnswer {
            lanes[number]?.cues[index].isAnswered = true
            if cue.question == .control(.startService, .rpc), lanes[number]?.grant == nil {
                lanes[number]?.grant = line
                return
            }
        }
        if let met = cue.met, let key = session(of: number) {
            schedule(line, since: met, key)
            lanes[number]?.tidy()
        } else if cue.met != nil {
            release(line.message)
        } else {
            lanes[number]?.cues[index].lines.append(line)
        }
    }

    // MARK: The conversation

    /// Handles a frame of an app.
    package mutating func receive(_ frame: Frame, at now: NIODeadline) -> Output {
        perform(at: now) { $0.receive(frame) }
    }

    /// Sends the messages that are due.
    package mutating func advance(to now: NIODeadline) -> Output {
        perform(at: now) { _ in }
    }

    /// When `advance` has to be called next; nil while nothing is due.
    package var nextDeadline: NIODeadline? {
        [due.first?.at, nextActivation].compactMap { $0 }.min()
    }

    package var sessionIDs: [UInt8] { keys.keys.sorted() }

    private mutating func perform(
        at now: NIODeadline, _ event: (inout RecordedHeadUnit) -> Void
    ) -> Output {
        self.now = now
        event(&self)
        decide()
        activateWaiting()
        sendDue()
        scheduleActivation()
        defer { output = Output() }
        return output
    }

    func session(of lane: Int) -> Int? {
        sessions.first { $0.value.lane == lane }?.key
    }

    /// - Returns: The session's key; nil when all numbers are in use.
    mutating func open(lane: Int, version: UInt8) -> Int? {
        guard let id = (1...UInt8.max).first(where: { keys[$0] == nil }) else { return nil }
        let key = nextKey
        nextKey += 1
        sessions[key] = LiveSession(
            key: key, id: id, lane: lane, version: version, at: now)
        keys[id] = key
        return key
    }

    /// Ends the session, and with it its part of the recording.
    mutating func close(_ key: Int) {
        guard let session = sessions.removeValue(forKey: key) else { return }
        keys[session.id] = nil
        for gone in due.drop(session: key) { release(gone.message) }
        if let lane = remove(lane: session.lane) { tellNotAsked(lane) }
    }

    private mutating func tellNotAsked(_ lane: RecordedLane) {
        var counts: [(question: RecordedQuestion, count: Int)] = []
        for cue in lane.cues where cue.met == nil {
            guard case .request = cue.question else { continue }
            if let index = counts.firstIndex(where: { $0.question == cue.question }) {
                counts[index].count += 1
            } else {
                counts.append((cue.question, 1))
            }
        }
        for (question, count) in counts {
            let times = count == 1 ? "" : " \(count) times"
            tell(
                .notAsked, lane.name,
                "the recorded app asked \(question)\(times), this one did not"
                    + (lane.isWhole ? "" : " (as far as the recording was read)"))
        }
    }

    // MARK: What is kept

    mutating func hold(_ message: RecordedMessage) {
        held.steps += 1
        held.bytes += message.weight
    }

    mutating func release(_ message: RecordedMessage) {
        held.steps -= 1
        held.bytes -= message.weight
    }

    /// Releases what a dropped cue held.
    mutating func release(_ cue: RecordedLane.Cue) {
        for line in cue.lines { release(line.message) }
        if cue.isHeld { held.steps -= 1 }
    }

    /// Forgets a recorded session; steps of it that are read later are dropped.
    @discardableResult
    mutating func remove(lane number: Int) -> RecordedLane? {
        guard let lane = lanes.removeValue(forKey: number) else { return nil }
        for cue in lane.cues { release(cue) }
        if let grant = lane.grant { release(grant.message) }
        return lane
    }

    mutating func tell(_ kind: Divergence.Kind, _ app: String, _ text: String) {
        toldDivergences += 1
        if toldDivergences <= Self.maximumDivergences {
            output.divergences.append(Divergence(kind, app: app, text))
        } else if toldDivergences == Self.maximumDivergences + 1 {
            output.divergences.append(
                Divergence(kind, app: app, "\(text); further divergences are not reported"))
        }
    }
}
