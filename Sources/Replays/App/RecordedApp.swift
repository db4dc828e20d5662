package import NIOCore
import RelayCore
package import SDLProtocol

/// The app of a recording, which sends its recorded requests to a live head unit.
///
/// It sends in the recorded order and waits where the recorded app had waited: for each answer, and for
/// the first of each kind of notification, OnHMIStatus by its level. Between these, the app's own pauses
/// last as long as they did, by `ReplaySpeed`. Sessions and hashes are those of the live conversation.
///
/// A value without files, sockets or clocks: steps of one recorded app are fed in as they are read,
/// frames as they come. It is over when `outcome` is set.
package struct RecordedApp: Sendable {
    package struct Options: Hashable, Sendable {
        package var speed = ReplaySpeed.factor(1)
        /// Answers are compared with the recorded ones.
        package var compares = false
        /// For an answer; slow head units have taken 14 s for a StartServiceACK.
        package var patience: TimeAmount = .seconds(20)

        package init() {}
    }

    package enum Outcome: Hashable, Sendable {
        case finished
        /// Why not, in a sentence.
        case failed(String)
    }

    package struct Output: Sendable {
        /// To be sent, in this order.
        package var frames: [Frame] = []
        package var divergences: [Divergence] = []
    }

    /// What happened, in numbers.
    package struct Counts: Hashable, Sendable, Codable {
        package var requests = 0
        /// Answers that came.
        package var answers = 0
        /// Of these, the same as recorded; 0 unless they are compared.
        package var same = 0
    }

    package let options: Options
    package private(set) var outcome: Outcome?
    package private(set) var counts = Counts()
    /// When `advance` has to be called next; nil while there is nothing to wait for.
    package private(set) var nextDeadline: NIODeadline?
    /// As it registered; until then what stands for it.
    package private(set) var name = "the app"

    private var queue: [RecordedStep] = []
    /// Where what is not done begins.
    private var start = 0
    private var heldBytes = 0
    private var hasEnded = false
    private var isConnected = false
    private var lanes: [Int: Lane] = [:]
    /// Sessions asked for and not answered.
    private var asked: [Int] = []
    private var assembler = MessageAssembler()
    /// The step of the recording that pauses are counted from, and when it was done.
    private var anchor: (recorded: Int64, live: NIODeadline)?
    /// Since when the next step has been waited for.
    private var waitsSince: NIODeadline?
    private var toldOfEncryption = false
    private var toldDivergences = 0
    private var now = NIODeadline.uptimeNanoseconds(0)
    private var output = Output()

    /// What is read ahead.
    private static let maximumSteps = 4096
    private static let maximumBytes = 64 << 20
    /// Divergences that are reported in words.
    package static let maximumDivergences = 1000

    private struct Lane {
        var grant: SessionGrant?
        var sentMessages: UInt32 = 0
        /// Requests by correlation ID, and control frames, that wait for an answer.
        var pending: [Pending: Live?] = [:]
        /// Kinds of what the head unit has told.
        var heard: Set<Notice> = []
        /// Requests of the head unit that are not answered.
        var requests: [FunctionID: [Int32]] = [:]
        var isRefused = false
        /// Goodbye was said: the head unit may give its number to another session.
        var isEnding = false
    }

    private enum Pending: Hashable {
        case control(RecordedQuestion)
        case response(Int32)
    }

    private enum Live: Sendable {
        case control(Frame)
        case response(RPCMessage)
    }

    private struct Notice: Hashable {
        var function: FunctionID?
        var control: ControlFrameType?
        var level: String?
    }

    package init(_ options: Options = Options()) { self.options = options }

    // MARK: Events

    /// Whether more of the recording should be read.
    package var wantsMore: Bool {
        !hasEnded && queue.count - start < Self.maximumSteps && heldBytes < Self.maximumBytes
            && outcome == nil
    }

    /// Takes what was read next of this app.
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

    /// Takes a frame of the head unit.
    package mutating func receive(_ frame: Frame, at now: NIODeadline) -> Output {
        perform(at: now) { $0.receive(frame) }
    }

    /// Goes on when the time has come.
    package mutating func advance(to now: NIODeadline) -> Output {
        perform(at: now) { _ in }
    }

    /// The connection is gone.
    package mutating func disconnected(at now: NIODeadline) -> Output {
        perform(at: now) { app in
            guard app.queue[app.start...].contains(where: \.isSaid) else {
                app.outcome = .finished
                return
            }
            app.tell(.closed, "the connection was closed before the recording was over")
            app.outcome = .failed("the connection was closed before the recording was over")
        }
    }

    private mutating func perform(
        at now: NIODeadline, _ event: (inout RecordedApp) -> Void
    ) -> Output {
        guard outcome == nil else { return Output() }
        self.now = now
        event(&self)
        if isConnected, outcome == nil { proceed() }
        defer { output = Output() }
        return output
    }

    // MARK: The recording

    /// Does all that can be done now.
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
                if hasCome(message, step.lane) {
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

    /// What nobody asked for may never come: it is waited for twice as long as the recorded app had
    /// waited, and an answer as long as an app would.
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

    // MARK: Out

    private mutating func send(_ message: RecordedMessage, _ number: Int) {
        if message.question == .control(.startService, .rpc), lanes[number] == nil {
            lanes[number] = Lane()
            lanes[number]?.pending[.control(.control(.startService, .rpc))] = .some(nil)
            asked.append(number)
            output.frames += message.frames(session: 0, messageID: 0)
            return
        }
        guard let grant = lanes[number]?.grant else { return }
        var message = message
        switch message.kind {
        case .control(.heartbeatACK): return
        case .control(.endService):
            if message.service == .rpc { lanes[number]?.isEnding = true }
            expect(message, number)
            output.frames.append(
                .endService(
                    message.service, version: grant.version, sessionID: grant.sessionID,
                    hashID: grant.hashID, messageID: takeMessageID(number)))
            return
        case .rpc(.response, let function, _):
            guard let request = lanes[number]?.requests[function]?.first else { return }
            lanes[number]?.requests[function]?.removeFirst()
            message = message.correlated(request)
        case .rpc(.request, _, _):
            counts.requests += 1
            expect(message, number)
        case .other:
            guard message.isEncrypted else { break }
            if !toldOfEncryption {
                tell(.encrypted, "encrypted messages of the recording cannot be sent again")
            }
            toldOfEncryption = true
            return
        default: expect(message, number)
        }
        if message.version > 1, grant.version > 1 { message.version = grant.version }
        message.pieceBytes = min(message.pieceBytes, Self.maximumPayloadBytes(grant))
        output.frames += message.frames(
            session: grant.sessionID, messageID: takeMessageID(number))
    }

    private mutating func expect(_ message: RecordedMessage, _ number: Int) {
        switch message.kind {
        case .rpc(.request, _, let correlationID?):
            lanes[number]?.pending[.response(correlationID)] = .some(nil)
        default:
            if let question = message.question {
                lanes[number]?.pending[.control(question)] = .some(nil)
            }
        }
    }

    private mutating func takeMessageID(_ number: Int) -> UInt32 {
        let next = (lanes[number]?.sentMessages ?? 0) &+ 1
        lanes[number]?.sentMessages = next
        return next
    }

    /// Largest payload of a frame, by the strictest reading of the MTU (SDL protocol spec, "MTU").
    private static func maximumPayloadBytes(_ grant: SessionGrant) -> Int {
        switch grant.version {
        case 1, 2: 1011
        case 3, 4: 131_011
        default: grant.mtu.map { max(1, Int(clamping: min($0, 131_072)) - 13) } ?? 131_011
        }
    }

    // MARK: In

    private mutating func receive(_ frame: Frame) {
        guard frame.type == .control else { return receiveMessage(frame) }
        guard let type = frame.controlType else { return }
        if frame.service == .rpc, let number = asked.first {
            if type == .startServiceACK, !isRunning(frame.sessionID) {
                asked.removeFirst()
                lanes[number]?.grant = SessionGrant(frame)
            } else if type == .startServiceNAK {
                asked.removeFirst()
                lanes[number]?.isRefused = true
                answered(.control(.control(.startService, .rpc)), .control(frame), number)
                return
            }
        }
        if type == .heartbeat {
            output.frames.append(
                Frame(
                    version: frame.version, type: .control, service: .control,
                    info: ControlFrameType.heartbeatACK.rawValue, sessionID: frame.sessionID,
                    messageID: frame.messageID ?? 0))
            return
        }
        guard let number = lane(of: frame.sessionID) else { return }
        let message = RecordedMessage(frame, kind: .control(type))
        if let question = message.answered {
            answered(.control(question), .control(frame), number)
        } else {
            lanes[number]?.heard.insert(Notice(control: type))
        }
    }

    private func isRunning(_ session: UInt8) -> Bool {
        lanes.values.contains { $0.grant?.sessionID == session && !$0.isEnding }
    }

    private func lane(of session: UInt8) -> Int? {
        lanes.filter { $0.value.grant?.sessionID == session }.map(\.key).max()
    }

    private mutating func receiveMessage(_ frame: Frame) {
        guard let number = lane(of: frame.sessionID),
            case .message(let message, _) = assembler.receive(
                frame, at: Int64(clamping: now.uptimeNanoseconds)),
            !message.isEncrypted, let rpc = try? RPCMessage(message)
        else { return }
        switch rpc.type {
        case .response:
            answered(.response(rpc.correlationID ?? 0), .response(rpc), number)
        case .notification: lanes[number]?.heard.insert(Self.notice(rpc))
        case .request:
            lanes[number]?.heard.insert(Notice(function: rpc.functionID))
            let waiting = lanes[number]?.requests[rpc.functionID]?.count ?? 0
            if waiting < Self.maximumRequests {
                lanes[number]?.requests[rpc.functionID, default: []].append(
                    rpc.correlationID ?? 0)
            }
        }
    }

    /// Requests of a head unit that an app has not answered.
    private static let maximumRequests = 256

    private static func notice(_ rpc: RPCMessage) -> Notice {
        Notice(
            function: rpc.functionID,
            level: rpc.functionID == .onHMIStatus ? rpc.parameters.string("hmiLevel") : nil)
    }

    private mutating func answered(_ pending: Pending, _ live: Live, _ number: Int) {
        guard case .some(nil) = lanes[number]?.pending[pending] else { return }
        lanes[number]?.pending[pending] = .some(live)
        counts.answers += 1
    }

    // MARK: Waiting and comparing

    /// Whether what the head unit said then has come now; an answer is then compared.
    private mutating func hasCome(_ message: RecordedMessage, _ number: Int) -> Bool {
        guard let lane = lanes[number], lane.grant != nil || !asked.isEmpty || lane.isRefused else {
            return true
        }
        switch message.kind {
        case .control(.heartbeat), .control(.heartbeatACK), .control(.serviceDataACK),
            .control(.transportEventUpdate), .stream, .other:
            return true
        case .rpc(.response, _, let correlationID):
            return take(.response(correlationID ?? 0), message, number)
        case .rpc(.notification, _, _), .rpc(.request, _, _):
            guard let rpc = message.rpc, !lane.isRefused else { return true }
            return lane.heard.contains(Self.notice(rpc))
        case .control(let type):
            guard let question = message.answered else {
                return lane.isRefused || lane.heard.contains(Notice(control: type))
            }
            return take(.control(question), message, number)
        }
    }

    private mutating func take(
        _ pending: Pending, _ message: RecordedMessage, _ number: Int
    ) -> Bool {
        // Not asked now, because its session was refused, or answered already.
        guard let state = lanes[number]?.pending[pending] else { return true }
        guard let live = state else { return false }
        lanes[number]?.pending[pending] = nil
        compare(message, live, number)
        return true
    }

    private mutating func compare(_ message: RecordedMessage, _ live: Live, _ number: Int) {
        switch live {
        case .control(let frame): compare(message, frame, number)
        case .response(let rpc):
            guard options.compares, let recorded = message.rpc else { return }
            let lines = AnswerComparison.differences(recorded: recorded, live: rpc)
            if lines.isEmpty {
                counts.same += 1
            } else {
                tell(.otherAnswer, "another answer to \(recorded.functionName)", lines: lines)
            }
        }
    }

    private mutating func compare(_ message: RecordedMessage, _ frame: Frame, _ number: Int) {
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
                .otherAnswer, "another answer to \(message.answered?.description ?? "")",
                lines: ["- \(type.name)", "+ \(found.name)"])
        } else if then != now {
            tell(
                .otherAnswer, "another protocol version in \(type.name)",
                lines: ["- \(then)", "+ \(now)"])
        } else {
            counts.same += 1
        }
    }

    private mutating func tellMissing(
        _ message: RecordedMessage, _ number: Int, _ patience: TimeAmount
    ) {
        let seconds = patience.nanoseconds / 1_000_000_000
        switch message.kind {
        case .rpc(.response, let function, let correlationID):
            lanes[number]?.pending[.response(correlationID ?? 0)] = nil
            tell(.noAnswer, "no answer to \(function) within \(seconds) s")
        case .control where message.answered != nil:
            let question = message.answered ?? .control(.startService, .rpc)
            lanes[number]?.pending[.control(question)] = nil
            tell(.noAnswer, "no answer to \(question) within \(seconds) s")
            if question == .control(.startService, .rpc) {
                outcome = .failed("the head unit did not answer StartService")
            }
        default:
            // It is reported once.
            if let rpc = message.rpc { lanes[number]?.heard.insert(Self.notice(rpc)) }
            if case .control(let type) = message.kind {
                lanes[number]?.heard.insert(Notice(control: type))
            }
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
    /// Somebody says something in it.
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
    /// Nil for what is none, or cannot be read.
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
