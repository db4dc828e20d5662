package import RelayCore
import SDLAdvice
package import SDLProtocol

/// Turns the items of the tap into entries for people; run by `TrafficObserver`, off the event loop. Items
/// are decoded in the order in which they happened:
///
/// 1. a dropped frame is shown or counted, and skips the steps below;
/// 2. control frames are read; the hub's router reports which sessions they begin and end;
/// 3. audio and video are counted;
/// 4. other frames are assembled into messages, one assembler per direction;
/// 5. messages are read as RPCs, responses paired with their requests, and both compared with the
///    specification.
///
/// Bounded whatever peers send: at most 256 sessions, `PendingRequests.maximum` requests each, and
/// what `MessageAssembler.Limits` allows.
package struct TrafficDecoder: Sendable {
    var sessions = SessionDirectory()
    var validation: TrafficValidation?
    var fromApp: MessageAssembler
    var fromAccessory: MessageAssembler
    var streams: [StreamKey: StreamCounter] = [:]
    var starts = PendingStarts()
    /// Waiting for the entry that they belong to.
    var largeFrames: [StreamKey: LargeFrame] = [:]
    var drops = DropCounter()
    /// Over TCP no bytes are lost: bytes that relayd skipped there may have been good.
    private var isLinkReliable = false
    /// Until then, answers may belong to requests that were not seen.
    var blindnessEnds = Int64.min
    var lastNumber: UInt64 = 0
    var now = WallTime(nanoseconds: 0)

    /// - Parameter validator: Checks each RPC against its specification; nil for no check.
    package init(
        limits: MessageAssembler.Limits = MessageAssembler.Limits(),
        validator: RPCValidator? = .builtIn
    ) {
        validation = validator.map(TrafficValidation.init)
        fromApp = MessageAssembler(limits: limits)
        fromAccessory = MessageAssembler(limits: limits)
    }

    /// Appends the entries for `item`.
    package mutating func receive(_ item: TapItem, into entries: inout [TrafficEntry]) {
        switch item {
        case .frames(let frames):
            for frame in frames {
                now = frame.time
                receive(frame, into: &entries)
            }
            sweep(into: &entries)
        // A notice reports the bytes, and a note is not part of the traffic.
        case .bytes, .noted: break
        case .appConnected(let app, let peer, let time):
            now = time
            entries.append(event(.appConnected(peer: PrintableText.string(peer)), app: app))
        case .appClosed(let app, let reason, let time):
            now = time
            for session in sessions.sessions(of: app) { end(session, into: &entries) }
            entries.append(event(.appClosed(reason: PrintableText.string(reason)), app: app))
            sessions.forget(app)
            starts.forget(app)
        case .session(let event, let app, let time):
            now = time
            follow(event, of: app, into: &entries)
        case .linkOpened(let number, let address, let time):
            now = time
            starts.linkOpened(at: time)
            isLinkReliable = address.hasPrefix("tcp:") || address.hasPrefix("sim:")
            entries.append(
                event(.linkOpened(number: number, address: PrintableText.string(address))))
        case .linkClosed(let reason, let time):
            now = time
            end(nil, into: &entries)
            sessions.forgetSessions()
            starts.linkClosed()
            entries.append(event(.linkClosed(reason: PrintableText.string(reason))))
        case .missed(let frames, let bytes):
            skipGap()
            entries.append(event(.missed(frames: frames, bytes: bytes)))
        case .noticed(let notice, let app, let time):
            now = time
            if case .garbage = notice, app == nil, isLinkReliable { starts.doubtAnswers() }
            entries.append(event(.noticed(notice), app: app))
        }
    }

    private mutating func follow(
        _ event: SessionEvent, of app: AppID, into entries: inout [TrafficEntry]
    ) {
        switch event {
        case .startSent: starts.sent(app, at: now)
        case .ended(let session):
            starts.sessionEnded(session, of: app)
            // Otherwise the number has been reused, and belongs to another session.
            if sessions.app(session) == app { end(session, into: &entries) }
        case .serviceEnded(let service, let session):
            // The owner of a session from before the observation is unknown.
            if sessions.app(session) ?? app == app { end(session, service, into: &entries) }
        case .wrongHash, .transportOffered: break
        }
        entries.append(told(event, of: app))
    }

    // MARK: Time

    /// The next moment at which `advance` has something to report; nil while nothing is unfinished.
    package var nextDeadline: WallTime? {
        var next = starts.nextDeadline ?? .max
        for pending in sessions.pending.values { next = min(next, pending.nextDeadline ?? .max) }
        for assembler in [fromApp, fromAccessory] {
            next = min(next, assembler.nextExpiry ?? .max)
        }
        for counter in streams.values { next = min(next, counter.due?.nanoseconds ?? .max) }
        next = min(next, drops.nextDeadline ?? .max)
        return next == .max ? nil : WallTime(nanoseconds: next)
    }

    /// Reports what has become due, because nothing has come until `time`.
    package mutating func advance(to time: WallTime, into entries: inout [TrafficEntry]) {
        now = time
        sweep(into: &entries)
    }

    /// Begins in the middle of a conversation, as in a recording of apps that were there before: answers
    /// without a request and messages without a beginning are not faults.
    package mutating func beginsInTheMiddle(at time: WallTime) {
        now = time
        skipGap()
    }

    private mutating func skipGap() {
        fromApp.skipGap(at: now.nanoseconds)
        fromAccessory.skipGap(at: now.nanoseconds)
        // The gap may include requests and answers.
        sessions.pending = [:]
        sessions.forgetRegistrations()
        blindnessEnds = now.nanoseconds &+ RequestPatience.people
    }

    /// Adjusts to a clock that was set forward by this many nanoseconds: nothing has waited longer for that.
    package mutating func clockWasSet(by step: Int64) {
        now = now.shifted(by: step)
        for session in sessions.pending.keys { sessions.pending[session]?.shift(by: step) }
        starts.shift(by: step)
        for key in streams.keys { streams[key]?.shift(by: step) }
        fromApp.shift(by: step)
        fromAccessory.shift(by: step)
        drops.shift(by: step)
        if blindnessEnds != .min { blindnessEnds &+= step }
    }

    /// Whether the frame is a whole RPC dropped by a fault rule: the user asked for that, and examines each.
    private static func isMessageOfRule(_ tapped: TappedFrame, _ reason: DropReason) -> Bool {
        guard case .fault = reason else { return false }
        return tapped.frame.type == .single && tapped.frame.service.carriesRPC
    }

    private mutating func receive(_ frame: TappedFrame, into entries: inout [TrafficEntry]) {
        if frame.isAnswerToRelay { return assemble(frame, into: &entries) }
        if frame.isControlToRelay { return control(frame, into: &entries) }
        if case .dropped(let reason) = frame.fate {
            noteDroppedStart(frame, reason)
            if Self.isMessageOfRule(frame, reason) || drops.count(frame, reason: reason) {
                entries.append(dropped(frame, reason: reason))
            }
            return
        }
        if frame.fate == .replaced {
            // Only shown: the frame that the app gets is the one that counts.
            if let type = frame.frame.controlType { entries.append(entry(type, frame)) }
            return
        }
        if frame.frame.type != .control,
            frame.frame.payloadBytes > sessions.unquestionedPayloadBytes,
            let large = sessions.judge(frame)
        {
            let key = StreamKey(
                sessionID: frame.frame.sessionID, service: frame.frame.service,
                direction: frame.direction)
            largeFrames[key] = large
        }
        if frame.frame.type == .control {
            control(frame, into: &entries)
        } else if frame.frame.service.isStream {
            count(frame, into: &entries)
        } else {
            assemble(frame, into: &entries)
        }
    }

    private mutating func noteDroppedStart(_ tapped: TappedFrame, _ reason: DropReason) {
        switch (tapped.frame.controlType, tapped.direction) {
        case (.startService, .fromApp): starts.drop(tapped, because: reason)
        case (.startServiceACK, .fromAccessory), (.startServiceNAK, .fromAccessory):
            starts.doubtAnswers()
        default: break
        }
    }

    // MARK: Control frames

    private mutating func control(_ tapped: TappedFrame, into entries: inout [TrafficEntry]) {
        let frame = tapped.frame
        guard let type = frame.controlType else { return }
        if tapped.grant == .opens {
            end(frame.sessionID, into: &entries)
            sessions.begin(tapped)
        }
        let payload = ControlPayload(frame)
        var fault: FaultSide?
        switch type {
        case .startService where tapped.fate != .byRelay: starts.add(tapped)
        case .startServiceACK:
            if !tapped.isControlToRelay { _ = starts.answer(tapped) }
            sessions.limit(tapped)
        case .startServiceNAK where !tapped.isControlToRelay:
            let rejects = payload.document?.array(ControlKey.rejectedParams)?.isEmpty == false
            fault =
                starts.answer(tapped)
                ?? sessions.fault(frame.service, of: frame.sessionID, rejects: rejects)
        default: break
        }
        let content = ControlEntry(
            type: type, version: frame.version, isProtected: frame.isEncrypted, payload: payload,
            grant: tapped.grant, isWaiting: tapped.isWaiting)
        var entry = entry(.control(content), tapped, bytes: frame.payloadBytes, frames: 1)
        entry.startFault = fault
        entries.append(entry)
    }
}
