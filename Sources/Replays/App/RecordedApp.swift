package import NIOCore
import RelayCore
package import SDLProtocol

/// The app of a recording, which sends its recorded requests to a live head unit.
///
/// It sends in the recorded order and waits where the recorded app waited: for each answer, and for the first
/// of each kind of notification, OnHMIStatus by its level. Between these, the app's own pauses last as long
/// as recorded, scaled by `ReplaySpeed`. Sessions and hashes are those of the live conversation.
///
/// A value without files, sockets or clocks: the steps of one recorded app are fed in as they are read,
/// frames as they come. The replay is over when `outcome` is set.
package struct RecordedApp: Sendable {
    package struct Options: Hashable, Sendable {
        package var speed = ReplaySpeed.factor(1)
        /// Whether to compare answers with the recorded ones.
        package var compares = false
        /// The time to wait for an answer; slow head units have taken 14 s for a StartServiceACK.
        package var patience: TimeAmount = .seconds(20)

        package init() {}
    }

    package enum Outcome: Hashable, Sendable {
        case finished
        /// The reason, in a sentence.
        case failed(String)
    }

    package struct Output: Sendable {
        /// To be sent, in this order.
        package var frames: [Frame] = []
        package var divergences: [Divergence] = []
    }

    /// The numbers of requests and answers.
    package struct Counts: Hashable, Sendable, Codable {
        package var requests = 0
        /// Answers that came.
        package var answers = 0
        /// Answers that are the same as recorded; 0 unless they are compared.
        package var same = 0
    }

    package let options: Options
    package private(set) var outcome: Outcome?
    /// When `advance` has to be called next; nil while there is nothing to wait for.
    package private(set) var nextDeadline: NIODeadline?
    /// The name that the app registered with; until then a placeholder.
    package private(set) var name = "the app"

    private var queue: [RecordedStep] = []
    /// The index of the first step that is not done.
    private var start = 0
    private var heldBytes = 0
    private var hasEnded = false
    private var isConnected = false
    private var isClosed = false
    private var conversation = AppConversation()
    /// Answers that are the same as recorded.
    private var same = 0
    /// The step of the recording from which pauses are counted, and when it was done.
    private var anchor: (recorded: Int64, live: NIODeadline)?
    /// The time since which the next step has been waited for.
    private var waitsSince: NIODeadline?
    private var toldOfEncryption = false
    /// Parameters that were overwritten in the recording; their values are not compared.
    package var masked: [String] = []
    private var toldDivergences = 0
    private var now = NIODeadline.uptimeNanoseconds(0)
    private var output = Output()

    /// Limits of what is read ahead.
    private static let maximumSteps = 4096
    private static let maximumBytes = 64 << 20
    /// Divergences that are reported in words.
    package static let maximumDivergences = 1000

    package var counts: Counts {
        Counts(requests: conversation.requests, answers: conversation.answers, same: same)
    }

    package init(_ options: Options = Options()) { self.options = options }

    // MARK: Events

    /// Whether more of the recording should be read.
    package var wantsMore: Bool {
        !hasEnded && queue.count - start < Self.maximumSteps && heldBytes < Self.maximumBytes
            && outcome == nil
    }

    /// Takes the steps of this app that were read next.
    package mutating func feed(
        _ steps: [RecordedStep], isLast: Bool, at now: NIODeadline
    ) -> Output {
        perform(at: now) { app in
            app.queue += steps
            for step in steps { app.heldBytes += step.weight }
            if isLast { app.hasEnded = true }
        }
    }

    package mutating func connected(at now: NIODeadline) -> Output {
        perform(at: now) { $0.isConnected = true }
    }

    /// Handles a frame of the head unit.
    package mutating func receive(_ frame: Frame, at now: NIODeadline) -> Output {
        perform(at: now) { $0.output.frames += $0.conversation.receive(frame, at: now) }
    }

    /// Continues at a deadline.
    package mutating func advance(to now: NIODeadline) -> Output {
        perform(at: now) { _ in }
    }

    /// Handles the end of the connection.
    package mutating func disconnected(at now: NIODeadline) -> Output {
        perform(at: now) { $0.isClosed = true }
    }

    private mutating func perform(
        at now: NIODeadline, _ event: (inout RecordedApp) -> Void
    ) -> Output {
        guard outcome == nil else { return Output() }
        self.now = now
        event(&self)
        if isClosed {
            judgeEnd()
        } else if isConnected, outcome == nil {
            proceed()
        }
        defer { output = Output() }
        return output
    }

    /// The connection is gone: no message may be left, not even one that has not been read yet.
    private mutating func judgeEnd() {
        nextDeadline = nil
        if queue[start...].contains(where: \.isSaid) {
            tell(.closed, "the connection was closed before the recording was over")
            outcome = .failed("the connection was closed before the recording was over")
        } else if hasEnded {
            outcome = .finished
        }
        (queue, start, heldBytes) = ([], 0, 0)
    }

    // MARK: The recording

    /// Does everything that can be done now.
    private mutating func proceed() {
        nextDeadline = nil
        while outcome == nil, start < queue.count {
            let step = queue[start]
            switch step.content {
            case .began, .ended: break
            case .fromApp(let message):
                let time = sendingTime(of: step)
                guard time <= now else {
                    nextDeadline = time
                    return
                }
                if let registration = step.registration { name = registration.name }
                send(message, step.lane)
                anchor = (step.time.nanoseconds, now)
            case .fromHeadUnit(let message):
                if takeArrival(of: message, step.lane) {
                    if waitsSince != nil { anchor = (step.time.nanoseconds, now) }
                } else {
                    let since = waitsSince ?? now
                    waitsSince = since
                    let patience = patience(step, message)
                    guard since + patience <= now else {
                        nextDeadline = since + patience
                        return
                    }
                    tellMissing(message, step.lane, patience)
                    anchor = (step.time.nanoseconds, now)
                }
            }
            done(step)
        }
        if start == queue.count, hasEnded, outcome == nil { outcome = .finished }
    }

    /// How long to wait for a message. An answer gets as long as an app would wait; an unsolicited message
    /// may never come and gets twice the time that the recorded app waited.
    private func patience(_ step: RecordedStep, _ message: RecordedMessage) -> TimeAmount {
        if case .rpc(.response, _, _) = message.kind { return options.patience }
        if message.answered != nil { return options.patience }
        let (waited, overflow) = step.time.nanoseconds.subtractingReportingOverflow(
            anchor?.recorded ?? step.time.nanoseconds)
        let bounded = overflow ? 0 : max(0, min(waited, Self.longestPatience.nanoseconds / 2))
        return max(Self.leastPatience, .nanoseconds(bounded * 2))
    }

    private static let leastPatience = TimeAmount.seconds(2)
    private static let longestPatience = TimeAmount.seconds(120)

    private func sendingTime(of step: RecordedStep) -> NIODeadline {
        guard let anchor else { return now }
        let (pause, overflow) = step.time.nanoseconds.subtractingReportingOverflow(
            anchor.recorded)
        return anchor.live + options.speed.scaled(overflow ? 0 : pause)
    }

    private mutating func done(_ step: RecordedStep) {
        waitsSince = nil
        heldBytes -= step.weight
        start += 1
        if start > 1024, start * 2 > queue.count {
            queue.removeFirst(start)
            start = 0
        }
    }

    private mutating func send(_ message: RecordedMessage, _ number: Int) {
        switch conversation.send(message, number) {
        case .frames(let frames): output.frames += frames
        case .encrypted:
            if !toldOfEncryption {
                tell(.encrypted, "encrypted messages of the recording cannot be sent again")
            }
            toldOfEncryption = true
        }
    }

    // MARK: Waiting and comparing

    /// Takes the message of the recorded head unit if it has come now, and compares an answer.
    ///
    /// - Returns: Whether it has come.
    private mutating func takeArrival(of message: RecordedMessage, _ number: Int) -> Bool {
        switch conversation.takeArrival(of: message, number) {
        case .come: break
        case .missing: return false
        case .answered(.control(let frame)): compare(message, frame)
        case .answered(.response(let rpc)):
            guard options.compares, let recorded = message.rpc else { break }
            let lines = AnswerComparison.differences(
                recorded: recorded, live: rpc, masked: masked)
            if lines.isEmpty {
                same += 1
            } else {
                tell(.otherAnswer, "a different answer to \(recorded.functionName)", lines: lines)
            }
        }
        return true
    }

    private mutating func compare(_ message: RecordedMessage, _ frame: Frame) {
        guard case .control(let type) = message.kind, let found = frame.controlType else { return }
        if found == .startServiceNAK, type == .startServiceACK, message.service == .rpc {
            let reason =
                ControlPayload(frame).document?.string(ControlKey.reason).map { ": \($0)" } ?? ""
            tell(.otherAnswer, "the head unit refused the session\(reason)")
            outcome = .failed(
                PrintableText.string("the head unit refused the session\(reason)", limit: 300))
            return
        }
        guard options.compares else { return }
        let (then, now) = (message.version, frame.version)
        if type != found {
            tell(
                .otherAnswer, "a different answer to \(message.answered?.description ?? "")",
                lines: ["- \(type.name)", "+ \(found.name)"])
        } else if then != now {
            tell(
                .otherAnswer, "a different protocol version in \(type.name)",
                lines: ["- \(then)", "+ \(now)"])
        } else {
            same += 1
        }
    }

    private mutating func tellMissing(
        _ message: RecordedMessage, _ number: Int, _ patience: TimeAmount
    ) {
        let seconds = patience.nanoseconds / 1_000_000_000
        conversation.giveUp(message, number)
        switch message.kind {
        case .rpc(.response, let function, _):
            tell(.noAnswer, "no answer to \(function) within \(seconds) s")
        case .control where message.answered != nil:
            let question = message.answered ?? .control(.startService, .rpc)
            tell(.noAnswer, "no answer to \(question) within \(seconds) s")
            if question == .control(.startService, .rpc) {
                outcome = .failed("the head unit did not answer StartService")
            }
        default:
            tell(.notTold, "\(message.words) did not come within \(seconds) s")
        }
    }

    private mutating func tell(_ kind: Divergence.Kind, _ text: String, lines: [String] = []) {
        toldDivergences += 1
        guard toldDivergences <= Self.maximumDivergences else { return }
        output.divergences.append(Divergence(kind, app: name, text, lines: lines))
    }
}

extension RecordedStep {
    /// Whether the step is a message.
    fileprivate var isSaid: Bool {
        switch content {
        case .began, .ended: false
        case .fromApp: true
        case .fromHeadUnit(let message):
            if case .rpc = message.kind { true } else { message.answered != nil }
        }
    }
}

extension RecordedMessage {
    /// Nil for a message that is not an RPC, or cannot be read.
    package var rpc: RPCMessage? {
        guard case .rpc = kind, payload.readableBytes > 0 else { return nil }
        return try? RPCMessage(
            Message(
                version: version, service: service, sessionID: 0, messageID: 0, payload: payload))
    }

    fileprivate var words: String {
        switch kind {
        case .control(let type): return type.name
        case .rpc(_, let function, _):
            let level = rpc?.parameters.string("hmiLevel").map { " \($0)" } ?? ""
            return function.description + (function == .onHMIStatus ? level : "")
        case .stream, .other: return service.name
        }
    }
}
