import NIOCore
import RelayCore
import SDLProtocol

/// The state of a replayed app's conversation with a live head unit: its sessions, the pending answers, and
/// the unsolicited messages of the head unit. `RecordedApp` decides what is sent, and when.
struct AppConversation: Sendable {
    /// An answer of the head unit.
    enum Answer: Sendable {
        case control(Frame)
        case response(RPCMessage)
    }

    /// Whether a message of the recorded head unit has come from the live one.
    enum Arrival: Sendable {
        /// It has come, or nothing waits for it in this conversation.
        case come
        case answered(Answer)
        case missing
    }

    /// The result of sending a message of the recording.
    enum Sending: Sendable {
        /// No frames if the message belongs to no current session.
        case frames([Frame])
        /// Only the peers that encrypted the message could send it again.
        case encrypted
    }

    /// Requests that were sent.
    private(set) var requests = 0
    /// Answers that came.
    private(set) var answers = 0

    private var lanes: [Int: Lane] = [:]
    /// Sessions that were asked for and not answered yet.
    private var asked: [Int] = []
    private var assembler = MessageAssembler()

    private struct Lane {
        var grant: SessionGrant?
        var sentMessages: UInt32 = 0
        /// Requests by correlation ID, and control frames, that wait for an answer.
        var pending: [Pending: Answer?] = [:]
        /// Kinds of unsolicited messages that have come from the head unit.
        var heard: Set<Notice> = []
        /// Unanswered requests of the head unit.
        var requests: [FunctionID: [Int32]] = [:]
        var isRefused = false
        /// Goodbye was said: the head unit may reuse the session's number.
        var isEnding = false
    }

    private enum Pending: Hashable {
        case control(RecordedQuestion)
        case response(Int32)
    }

    private struct Notice: Hashable {
        var function: FunctionID?
        var control: ControlFrameType?
        var level: String?
    }

    // MARK: Out

    /// Turns a message of the recording into one of this conversation.
    ///
    /// - Parameter number: The number of the recorded session.
    mutating func send(_ message: RecordedMessage, _ number: Int) -> Sending {
        if message.question == .control(.startService, .rpc), lanes[number] == nil {
            lanes[number] = Lane()
            lanes[number]?.pending[.control(.control(.startService, .rpc))] = .some(nil)
            asked.append(number)
            return .frames(message.frames(session: 0, messageID: 0))
        }
        guard let grant = lanes[number]?.grant else { return .frames([]) }
        var message = message
        switch message.kind {
        case .control(.heartbeatACK): return .frames([])
        case .control(.endService):
            if message.service == .rpc { lanes[number]?.isEnding = true }
            expect(message, number)
            return .frames([
                .endService(
                    message.service, version: grant.version, sessionID: grant.sessionID,
                    hashID: grant.hashID, messageID: takeMessageID(number))
            ])
        case .rpc(.response, let function, _):
            guard let request = lanes[number]?.requests[function]?.first else {
                return .frames([])
            }
            lanes[number]?.requests[function]?.removeFirst()
            message = message.correlated(request)
        case .rpc(.request, _, _):
            requests += 1
            expect(message, number)
        case .other:
            if message.isEncrypted { return .encrypted }
        default: expect(message, number)
        }
        if message.version > 1, grant.version > 1 { message.version = grant.version }
        message.pieceBytes = min(message.pieceBytes, Self.maximumPayloadBytes(grant))
        return .frames(
            message.frames(session: grant.sessionID, messageID: takeMessageID(number)))
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

    /// Handles a frame of the head unit.
    ///
    /// - Returns: The frames that an app sends in answer at once.
    mutating func receive(_ frame: Frame, at now: NIODeadline) -> [Frame] {
        guard frame.type == .control else {
            receiveMessage(frame, at: now)
            return []
        }
        guard let type = frame.controlType else { return [] }
        if frame.service == .rpc, let number = asked.first {
            if type == .startServiceACK, !isRunning(frame.sessionID) {
                asked.removeFirst()
                lanes[number]?.grant = SessionGrant(frame)
            } else if type == .startServiceNAK {
                asked.removeFirst()
                lanes[number]?.isRefused = true
                answered(.control(.control(.startService, .rpc)), .control(frame), number)
                return []
            }
        }
        if type == .heartbeat {
            return [
                Frame(
                    version: frame.version, type: .control, service: .control,
                    info: ControlFrameType.heartbeatACK.rawValue, sessionID: frame.sessionID,
                    messageID: frame.messageID ?? 0)
            ]
        }
        guard let number = lane(of: frame.sessionID) else { return [] }
        if let question = RecordedMessage(frame, kind: .control(type)).answered {
            answered(.control(question), .control(frame), number)
        } else {
            lanes[number]?.heard.insert(Notice(control: type))
        }
        return []
    }

    private func isRunning(_ session: UInt8) -> Bool {
        lanes.values.contains { $0.grant?.sessionID == session && !$0.isEnding }
    }

    private func lane(of session: UInt8) -> Int? {
        lanes.filter { $0.value.grant?.sessionID == session }.map(\.key).max()
    }

    private mutating func receiveMessage(_ frame: Frame, at now: NIODeadline) {
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

    /// Maximum requests of a head unit that an app has not answered.
    private static let maximumRequests = 256

    private static func notice(_ rpc: RPCMessage) -> Notice {
        Notice(
            function: rpc.functionID,
            level: rpc.functionID == .onHMIStatus ? rpc.parameters.string("hmiLevel") : nil)
    }

    private mutating func answered(_ pending: Pending, _ answer: Answer, _ number: Int) {
        guard case .some(nil) = lanes[number]?.pending[pending] else { return }
        lanes[number]?.pending[pending] = .some(answer)
        answers += 1
    }

    // MARK: Waiting

    /// Whether the live head unit has sent this message of the recorded one. An answer is returned once.
    mutating func takeArrival(of message: RecordedMessage, _ number: Int) -> Arrival {
        guard let lane = lanes[number], lane.grant != nil || !asked.isEmpty || lane.isRefused else {
            return .come
        }
        switch message.kind {
        case .control(.heartbeat), .control(.heartbeatACK), .control(.serviceDataACK),
            .control(.transportEventUpdate), .stream, .other:
            return .come
        case .rpc(.response, _, let correlationID):
            return take(.response(correlationID ?? 0), number)
        case .rpc(.notification, _, _), .rpc(.request, _, _):
            guard let rpc = message.rpc, !lane.isRefused else { return .come }
            return lane.heard.contains(Self.notice(rpc)) ? .come : .missing
        case .control(let type):
            guard let question = message.answered else {
                let isHeard = lane.isRefused || lane.heard.contains(Notice(control: type))
                return isHeard ? .come : .missing
            }
            return take(.control(question), number)
        }
    }

    private mutating func take(_ pending: Pending, _ number: Int) -> Arrival {
        // Not asked this time, because the session was refused, or answered already.
        guard let state = lanes[number]?.pending[pending] else { return .come }
        guard let answer = state else { return .missing }
        lanes[number]?.pending[pending] = nil
        return .answered(answer)
    }

    /// Stops waiting for the message, so that its absence is reported once.
    mutating func giveUp(_ message: RecordedMessage, _ number: Int) {
        switch message.kind {
        case .rpc(.response, _, let correlationID):
            lanes[number]?.pending[.response(correlationID ?? 0)] = nil
        case .control where message.answered != nil:
            let question = message.answered ?? .control(.startService, .rpc)
            lanes[number]?.pending[.control(question)] = nil
        case .control(let type): lanes[number]?.heard.insert(Notice(control: type))
        default:
            if let rpc = message.rpc { lanes[number]?.heard.insert(Self.notice(rpc)) }
        }
    }
}
