// Turns what passed the tap into entries for people; run by `TrafficObserver`, off the event loop.

import NIOCore
package import SDLProtocol

/// Decodes items in the order they happened:
///
/// 1. a dropped frame is shown or counted, and takes part in nothing below;
/// 2. control frames are read, and tell which sessions exist;
/// 3. audio and video are counted;
/// 4. other frames are assembled to messages, one assembler per direction;
/// 5. messages are read as RPCs, responses paired with their requests, and both compared with the
///    specification.
///
/// Bounded whatever peers send: at most 256 sessions, `PendingRequests.maximum` requests each, and
/// what `MessageAssembler.Limits` allows.
package struct TrafficDecoder: Sendable {
    private var sessions = SessionDirectory()
    private var validation: TrafficValidation?
    private var fromApp: MessageAssembler
    private var fromAccessory: MessageAssembler
    private var streams: [StreamKey: StreamCounter] = [:]
    private var starts = PendingStarts()
    /// Waiting for the entry that they belong to.
    private var largeFrames: [StreamKey: LargeFrame] = [:]
    private var drops = DropCounter()
    /// Over TCP no bytes get lost: what relayd skipped there may have been good.
    private var isLinkReliable = false
    /// Until then answers may belong to requests that went by unseen.
    private var blindnessEnds = Int64.min
    private var lastNumber: UInt64 = 0
    private var now = WallTime(nanoseconds: 0)

    /// - Parameter validator: Judges each RPC by its specification; nil = nobody does.
    package init(
        limits: MessageAssembler.Limits = MessageAssembler.Limits(),
        validator: RPCValidator? = .builtIn
    ) {
        validation = validator.map(TrafficValidation.init)
        fromApp = MessageAssembler(limits: limits)
        fromAccessory = MessageAssembler(limits: limits)
    }

    /// Appends what `item` amounts to.
    package mutating func receive(_ item: TapItem, into entries: inout [TrafficEntry]) {
        switch item {
        case .frames(let frames):
            for frame in frames {
                now = frame.time
                receive(frame, into: &entries)
            }
            sweep(into: &entries)
        case .appConnected(let app, let peer, let time):
            now = time
            entries.append(event(.appConnected(peer: PrintableText.string(peer)), app: app))
        case .appClosed(let app, let reason, let time):
            now = time
            for session in sessions.sessions(of: app) { end(session, into: &entries) }
            entries.append(event(.appClosed(reason: PrintableText.string(reason)), app: app))
            sessions.forget(app)
            starts.forget(app)
        case .linkOpened(let address, let time):
            now = time
            starts.linkOpened(at: time)
            isLinkReliable = address.hasPrefix("tcp:") || address.hasPrefix("sim:")
            entries.append(event(.linkOpened(address: PrintableText.string(address))))
        case .linkClosed(let reason, let time):
            now = time
            end(nil, into: &entries)
            sessions.forgetSessions()
            starts.linkClosed()
            entries.append(event(.linkClosed(reason: PrintableText.string(reason))))
        case .missed(let frames, let bytes):
            fromApp.skipGap(at: now.nanoseconds)
            fromAccessory.skipGap(at: now.nanoseconds)
            // Requests and answers were among them.
            sessions.pending = [:]
            blindnessEnds = now.nanoseconds &+ RequestPatience.people
            entries.append(event(.missed(frames: frames, bytes: bytes)))
        case .noticed(let notice, let app, let time):
            now = time
            if case .garbage = notice, app == nil, isLinkReliable { starts.mayHaveLostAnswer() }
            entries.append(event(.noticed(notice), app: app))
        }
    }

    // MARK: Time

    /// The next moment at which `advance` has something to tell; nil while nothing is unfinished.
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

    /// Nothing has come until `time`: tells what that means.
    package mutating func advance(to time: WallTime, into entries: inout [TrafficEntry]) {
        now = time
        sweep(into: &entries)
    }

    /// Somebody set the clock forward by so many nanoseconds: nothing has waited longer for it.
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

    private mutating func receive(_ frame: TappedFrame, into entries: inout [TrafficEntry]) {
        if case .dropped(let reason) = frame.fate {
            noteDroppedStart(frame, reason)
            if drops.count(frame, reason: reason) {
                entries.append(dropped(frame, reason: reason))
            }
            return
        }
        if frame.fate == .replaced {
            // Only shown: what counts is the frame that the app gets.
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
            starts.mayHaveLostAnswer()
        default: break
        }
    }

    // MARK: Control frames

    private mutating func control(_ tapped: TappedFrame, into entries: inout [TrafficEntry]) {
        let frame = tapped.frame
        guard let type = frame.controlType else { return }
        if frame.service == .rpc, type == .startServiceACK {
            if !sessions.isUpgrade(tapped) { end(frame.sessionID, into: &entries) }
            sessions.begin(tapped)
        }
        let payload = ControlPayload(frame)
        var fault: FaultSide?
        switch type {
        case .startService where tapped.fate != .byRelay: starts.add(tapped)
        case .startServiceACK:
            _ = starts.answer(tapped)
            sessions.limit(tapped)
        case .startServiceNAK:
            let rejects = payload.document?.array(ControlKey.rejectedParams)?.isEmpty == false
            fault =
                starts.answer(tapped)
                ?? sessions.fault(frame.service, of: frame.sessionID, rejects: rejects)
        default: break
        }
        let isEnd = type == .endServiceACK || type == .startServiceNAK
        if isEnd, frame.service.isStream {
            end(frame.sessionID, frame.service, into: &entries)
        }
        let content = ControlEntry(
            type: type, version: frame.version, isProtected: frame.isEncrypted, payload: payload)
        var entry = entry(.control(content), tapped, bytes: frame.payloadBytes, frames: 1)
        entry.startFault = fault
        entries.append(entry)
        if type == .endServiceACK, frame.service == .rpc { end(frame.sessionID, into: &entries) }
    }

    // MARK: Streams

    private mutating func count(_ tapped: TappedFrame, into entries: inout [TrafficEntry]) {
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

    /// Ends the streams of a session, or with nil of all, or only one service of it.
    private mutating func endStreams(
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

    // MARK: Messages

    private mutating func assemble(_ tapped: TappedFrame, into entries: inout [TrafficEntry]) {
        // With such a frame relayd ends what an app has left unfinished, for the head unit alone.
        guard tapped.fate != .byRelay || tapped.frame.type == .single else { return }
        let outcome =
            tapped.direction == .fromApp
            ? fromApp.receive(tapped.frame, at: tapped.time.nanoseconds)
            : fromAccessory.receive(tapped.frame, at: tapped.time.nanoseconds)
        switch outcome {
        case .incomplete: break
        case .message(let message, let problem):
            entries.append(decode(message, problem, tapped))
        case .broken(let message, let problem):
            entries.append(broken(message, problem, tapped.direction))
        }
    }

    private mutating func decode(
        _ message: Message, _ problem: AssemblyProblem?, _ tapped: TappedFrame
    ) -> TrafficEntry {
        let content: TrafficEntry.Content
        if message.isEncrypted {
            content = .encrypted
        } else if message.service == .control {
            content =
                SecurityQuery(message).map { .security($0) }
                ?? .undecodable(
                    UndecodableEntry(message, .securityQuery(bytes: message.payloadBytes)))
        } else {
            do {
                var rpc = try RPCMessage(message)
                validation?.name(&rpc)
                var paired = pair(rpc, problem, tapped)
                paired.validation =
                    validation?.problems(
                        in: rpc, from: tapped.direction, session: tapped.frame.sessionID) ?? []
                sessions.learn(paired, tapped.frame.sessionID)
                content = .rpc(paired)
            } catch {
                let unreadable = UndecodableEntry(
                    message, problem.map { .assembly($0) } ?? .rpc(error))
                pair(unreadable, tapped)
                content = .undecodable(unreadable)
            }
        }
        var entry = entry(content, tapped, bytes: message.payloadBytes, frames: message.frames)
        entry.service = message.service
        return entry
    }

    /// Looks up what a response answers, remembers what a request asks.
    private mutating func pair(
        _ message: RPCMessage, _ problem: AssemblyProblem?, _ tapped: TappedFrame
    ) -> RPCEntry {
        var rpc = RPCEntry(message: message, outcome: RPCOutcome(message), problem: problem)
        let session = tapped.frame.sessionID
        if message.bulkBytes > 0 {
            rpc.bulk = BulkFacts(message, audio: sessions.audio(session))
        }
        switch (message.type, message.correlationID) {
        case (.request, let correlationID?):
            if message.functionID == .registerAppInterface, tapped.direction == .fromApp {
                sessions.register(message, tapped)
            } else if message.functionID == .performAudioPassThru {
                sessions.record(message, session)
            }
            rpc.replaced = sessions.pending[session, default: PendingRequests()].add(
                PendingRequest(
                    number: lastNumber + 1, functionID: message.functionID,
                    correlationID: correlationID, direction: tapped.direction, time: tapped.time,
                    patience: RequestPatience.of(message)))
        case (.response, let correlationID?):
            rpc.request = sessions.pending[session]?.answer(
                direction: tapped.direction, correlationID: correlationID)
            rpc.isUnasked =
                rpc.request == nil && sessions.pending[session]?.isIncomplete == false
                && now.nanoseconds >= blindnessEnds
            rpc.latency = rpc.request.map {
                max(0, tapped.time.nanoseconds &- $0.time.nanoseconds)
            }
        default: break
        }
        return rpc
    }

    /// Head units answer a request even when its JSON cannot be read. Nobody is warned when they do
    /// not: it may have been anything.
    private mutating func pair(_ unreadable: UndecodableEntry, _ tapped: TappedFrame) {
        guard let header = unreadable.header else { return }
        let session = tapped.frame.sessionID
        switch header.type {
        case .request:
            _ = sessions.pending[session, default: PendingRequests()].add(
                PendingRequest(
                    number: lastNumber + 1, functionID: FunctionID(rawValue: header.functionID),
                    correlationID: header.correlationID, direction: tapped.direction,
                    time: tapped.time, patience: .max))
        case .response:
            _ = sessions.pending[session]?.answer(
                direction: tapped.direction, correlationID: header.correlationID)
        case .notification: break
        }
    }

    private mutating func broken(
        _ message: Message, _ problem: AssemblyProblem, _ direction: Direction
    ) -> TrafficEntry {
        entry(
            .undecodable(UndecodableEntry(message, .assembly(problem))),
            app: sessions.app(message.sessionID),
            session: message.sessionID, service: message.service, direction: direction,
            bytes: message.payloadBytes, frames: message.frames)
    }

    // MARK: Dropped frames

    private mutating func dropped(_ tapped: TappedFrame, reason: DropReason) -> TrafficEntry {
        let frame = tapped.frame
        var dropped = DroppedEntry(reason: reason, frame: frame)
        if frame.type == .single, frame.service.carriesRPC, !frame.isEncrypted {
            dropped.rpc = try? RPCMessage(Message(single: frame))
        }
        return entry(.dropped(dropped), tapped, bytes: frame.payloadBytes, frames: 1)
    }

    // MARK: Ends

    /// Sums up what a session, or with nil the link, leaves unfinished.
    private mutating func end(
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

    /// What became due with the passing of time.
    private mutating func sweep(into entries: inout [TrafficEntry]) {
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
        for (key, sum) in drops.takeDue(at: now) {
            var entry = entry(
                .dropped(DroppedEntry(reason: key.reason)), app: key.app, session: nil,
                service: nil, direction: key.direction, bytes: sum.bytes, frames: sum.frames)
            entry.fate = .dropped(key.reason)
            entries.append(entry)
        }
    }

    // MARK: Making entries

    private mutating func entry(
        _ type: ControlFrameType, _ tapped: TappedFrame
    ) -> TrafficEntry {
        let frame = tapped.frame
        let content = ControlEntry(
            type: type, version: frame.version, isProtected: frame.isEncrypted,
            payload: ControlPayload(frame))
        return entry(.control(content), tapped, bytes: frame.payloadBytes, frames: 1)
    }

    private mutating func entry(
        _ content: TrafficEntry.Content, _ tapped: TappedFrame, bytes: Int, frames: Int
    ) -> TrafficEntry {
        let session = tapped.frame.sessionID
        var entry = entry(
            content, app: tapped.app ?? sessions.app(session), session: session,
            service: tapped.frame.service, direction: tapped.direction, bytes: bytes,
            frames: frames)
        entry.fate = tapped.fate
        return entry
    }

    private mutating func entry(
        _ key: StreamKey, _ app: AppID?, _ summary: StreamSummary
    ) -> TrafficEntry {
        entry(
            .stream(summary), app: app ?? sessions.app(key.sessionID), session: key.sessionID,
            service: key.service, direction: key.direction, bytes: summary.bytes,
            frames: summary.frames)
    }

    private mutating func event(_ event: EventEntry, app: AppID? = nil) -> TrafficEntry {
        entry(
            .event(event), app: app, session: nil, service: nil, direction: nil, bytes: 0,
            frames: 0)
    }

    private mutating func entry(
        _ content: TrafficEntry.Content, app: AppID?, session: UInt8?, service: ServiceType?,
        direction: Direction?, bytes: Int, frames: Int
    ) -> TrafficEntry {
        lastNumber += 1
        let identity = sessions.identity(app: app, session: session)
        var entry = TrafficEntry(
            number: lastNumber, time: now, app: app, appName: identity?.name,
            registeredAppID: identity?.appID, sessionID: session, service: service,
            direction: direction, bytes: bytes, frames: frames, fate: .forwarded,
            content: content)
        if !largeFrames.isEmpty, let session, let service, let direction {
            entry.largeFrame = largeFrames.removeValue(
                forKey: StreamKey(sessionID: session, service: service, direction: direction))
        }
        return entry
    }
}
