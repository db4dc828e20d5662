import NIOCore
import RelayCore
import SDLProtocol
package import Traces

/// Turns the entries of a trace into steps: joins frames into messages, and assigns each message to its
/// session.
///
/// The recorded relayd's own actions are left out, because the relayd of the replay repeats them: its own
/// frames, the frames that it did not pass on, and one of the two versions of an amended frame.
package struct RecordingScript {
    /// The part that is played: only its messages keep their payload.
    package enum Part: Hashable, Sendable {
        case headUnit
        /// The answers are kept too, to be compared.
        case app
    }

    private let part: Part
    private var clock = RecordedClock()
    /// The owner of each session that was granted and is running.
    private var owners: [UInt8: Owner] = [:]
    /// Sessions of each app that were asked for and not answered, never empty.
    private var asked: [AppID: [Int]] = [:]
    private var laneCount = 0
    private var assemblers = [MessageAssembler(), MessageAssembler()]
    /// The largest piece of each incomplete message, by session, service and direction.
    private var pieces: [PieceKey: Int] = [:]
    /// Parameters whose values were overwritten.
    package private(set) var masked: [String] = []
    /// Sessions that the head unit granted.
    package private(set) var grantedSessions = 0
    /// Frames of sessions whose beginning is not in the recording.
    package private(set) var framesWithoutSession = 0

    private struct Owner {
        var lane: Int
        var app: AppID
    }

    private struct PieceKey: Hashable {
        var session: UInt8
        var service: ServiceType
        var direction: Direction
    }

    /// Maximum apps that wait for an answer. Each may have 255 unanswered requests, as many as a link has sessions.
    private static let maximumAsked = 1024
    private static let maximumMasked = 1000

    package init(_ part: Part) { self.part = part }

    package mutating func read(_ entry: TraceEntry, into steps: inout [RecordedStep]) {
        switch entry.content {
        case .frame(let tapped, let omitted, _):
            var tapped = tapped
            tapped.time =
                tapped.isEarlier ? clock.passEarlier(tapped.time) : clock.pass(to: tapped.time)
            if omitted == 0 { read(tapped, &steps) }
        case .bytes: break
        case .record(let record): read(record, at: clock.now(orAt: entry.time), &steps)
        }
    }

    // MARK: Records

    private mutating func read(
        _ record: TraceRecord, at time: WallTime, _ steps: inout [RecordedStep]
    ) {
        switch record {
        case .linkClosed, .linkOpened:
            for session in owners.keys.sorted() { end(session, at: time, &steps) }
            asked = [:]
            forgetMessages()
        case .appLeft(let app, _):
            asked[app] = nil
            for (session, owner) in owners.sorted(by: { $0.key < $1.key })
            where owner.app == app { end(session, at: time, &steps) }
        case .sessionEnded(_, let session): end(session, at: time, &steps)
        case .gap: forgetMessages()
        case .trace(let header):
            masked += header.masked.prefix(Self.maximumMasked).filter { !masked.contains($0) }
            masked = Array(masked.prefix(Self.maximumMasked))
        case .appConnected, .startSent, .serviceEnded, .notice, .advice, .mark, .end, .other:
            break
        }
    }

    private mutating func forgetMessages() {
        assemblers = [MessageAssembler(), MessageAssembler()]
        pieces = [:]
    }

    private mutating func end(
        _ session: UInt8, at time: WallTime, _ steps: inout [RecordedStep]
    ) {
        guard let owner = owners.removeValue(forKey: session) else { return }
        steps.append(
            RecordedStep(lane: owner.lane, app: owner.app, time: time, content: .ended))
    }

    // MARK: Frames

    private func isPlayed(_ tapped: TappedFrame) -> Bool {
        switch tapped.fate {
        case .forwarded: true
        // What a frame was before relayd or a fault rule changed it: what its sender said, and for the head
        // unit's part everything.
        case .replaced: part == .headUnit || tapped.direction == .fromApp
        // What the app got, for its part.
        case .amended: part == .app
        // Held and reordered frames are as they came. Of a corrupted or truncated one, the original is in a
        // replaced frame before it; the app's part follows what the app got. A repetition is left out.
        case .faulted(let mark):
            mark.isAsItCame
                || mark.kind != .repeated && part == .app && tapped.direction == .fromAccessory
        case .byRelay, .dropped: false
        }
    }

    private mutating func read(_ tapped: TappedFrame, _ steps: inout [RecordedStep]) {
        guard isPlayed(tapped), let app = tapped.app else { return }
        let frame = tapped.frame
        if frame.type == .control, frame.service == .rpc {
            switch (frame.controlType, tapped.direction) {
            case (.startService, .fromApp) where frame.sessionID == 0:
                return ask(tapped, app, &steps)
            case (.startServiceACK, .fromAccessory)
            where tapped.grant != .protects && tapped.grant != .nothing:
                open(tapped, app, &steps)
            case (.startServiceNAK, .fromAccessory):
                return refuse(tapped, app, &steps)
            default: break
            }
        }
        guard let owner = owners[frame.sessionID], owner.app == app else {
            framesWithoutSession += 1
            return
        }
        guard let (message, rpc) = message(tapped) else { return }
        var step = RecordedStep(
            lane: owner.lane, app: app, time: tapped.time,
            content: tapped.direction == .fromApp ? .fromApp(message) : .fromHeadUnit(message))
        step.registration = rpc.flatMap { RecordedRegistration($0) }
        if part == .headUnit, let rpc, rpc.type == .request, tapped.direction == .fromApp {
            step.fingerprint = AnswerComparison.fingerprint(rpc, ignoring: masked)
        }
        steps.append(step)
    }

    private mutating func ask(
        _ tapped: TappedFrame, _ app: AppID, _ steps: inout [RecordedStep]
    ) {
        guard asked[app]?.count ?? 0 < 255, asked.count < Self.maximumAsked else { return }
        asked[app, default: []].append(laneCount)
        begin(tapped, app, &steps)
    }

    /// The session that the app asked for first, of those that nobody has answered.
    private mutating func takeAsked(by app: AppID) -> Int? {
        guard var lanes = asked.removeValue(forKey: app), !lanes.isEmpty else { return nil }
        let first = lanes.removeFirst()
        if !lanes.isEmpty { asked[app] = lanes }
        return first
    }

    private mutating func begin(
        _ tapped: TappedFrame, _ app: AppID, _ steps: inout [RecordedStep]
    ) {
        let lane = laneCount
        laneCount += 1
        steps.append(RecordedStep(lane: lane, app: app, time: tapped.time, content: .began))
        guard tapped.direction == .fromApp else { return }
        steps.append(
            RecordedStep(
                lane: lane, app: app, time: tapped.time,
                content: .fromApp(RecordedMessage(tapped.frame, kind: .control(.startService)))))
    }

    private mutating func open(
        _ tapped: TappedFrame, _ app: AppID, _ steps: inout [RecordedStep]
    ) {
        let session = tapped.frame.sessionID
        let lane: Int
        if let first = takeAsked(by: app) {
            lane = first
        } else if tapped.grant == .opens {
            // A truncated recording has only the grant.
            lane = laneCount
            begin(tapped, app, &steps)
        } else {
            return
        }
        end(session, at: tapped.time, &steps)
        owners[session] = Owner(lane: lane, app: app)
        grantedSessions += 1
    }

    private mutating func refuse(
        _ tapped: TappedFrame, _ app: AppID, _ steps: inout [RecordedStep]
    ) {
        guard let lane = takeAsked(by: app) else { return }
        steps.append(
            RecordedStep(
                lane: lane, app: app, time: tapped.time,
                content: .fromHeadUnit(
                    RecordedMessage(tapped.frame, kind: .control(.startServiceNAK)))))
        steps.append(
            RecordedStep(lane: lane, app: app, time: tapped.time, content: .ended))
    }

    // MARK: Messages

    private mutating func message(
        _ tapped: TappedFrame
    ) -> (RecordedMessage, RPCMessage?)? {
        let frame = tapped.frame
        if frame.type == .control {
            guard let type = frame.controlType else { return nil }
            return (RecordedMessage(frame, kind: .control(type)), nil)
        }
        if frame.service.isStream {
            // Streams get no answer.
            guard part == .app, tapped.direction == .fromApp, frame.type == .single else {
                return nil
            }
            return (RecordedMessage(frame, kind: .stream), nil)
        }
        let key = PieceKey(
            session: frame.sessionID, service: frame.service, direction: tapped.direction)
        switch frame.type {
        case .first: pieces[key] = 0
        case .consecutive: pieces[key] = max(pieces[key] ?? 0, frame.payloadBytes)
        case .single, .control: break
        }
        let side = tapped.direction == .fromApp ? 0 : 1
        guard
            case .message(let message, _) = assemblers[side].receive(
                frame, at: tapped.time.nanoseconds), !message.isTruncated
        else { return nil }
        let piece =
            frame.type == .single ? message.payload.readableBytes : pieces[key] ?? 0
        return recorded(message, piece, tapped.direction)
    }

    private func recorded(
        _ message: Message, _ piece: Int, _ direction: Direction
    ) -> (RecordedMessage, RPCMessage?) {
        var message = message
        guard !message.isEncrypted, message.service.carriesRPC,
            let rpc = try? RPCMessage(message)
        else {
            message.payload = message.payload.detached()
            return (RecordedMessage(message, kind: .other, pieceBytes: piece), nil)
        }
        // For the head unit's part, it is enough to know what was asked.
        let keeps = part == .app || direction == .fromAccessory
        message.payload = keeps ? message.payload.detached() : ByteBuffer()
        let kind = RecordedMessage.Kind.rpc(
            rpc.type, rpc.functionID, correlationID: rpc.correlationID)
        return (RecordedMessage(message, kind: kind, pieceBytes: piece), rpc)
    }
}
