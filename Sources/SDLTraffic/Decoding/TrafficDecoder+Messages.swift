// Steps 4 and 5 of `TrafficDecoder`: frames are assembled into messages, messages read as RPCs, and responses
// paired with their requests.

import RelayCore
import SDLProtocol

extension TrafficDecoder {
    mutating func assemble(_ tapped: TappedFrame, into entries: inout [TrafficEntry]) {
        // With such a frame, relayd ends a message that an app left unfinished; it is only for the head unit.
        // Frames that relayd sends in the place of an app count as the app's.
        guard tapped.fate != .byRelay || tapped.frame.type == .single || tapped.app != nil else {
            return
        }
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

    mutating func decode(
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
                // What relayd answers in the head unit's place says nothing about the head unit.
                if tapped.fate != .byRelay { sessions.learn(paired, tapped.frame.sessionID) }
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

    /// Finds the request of a response, and remembers a request.
    mutating func pair(
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
        case (.response, _) where tapped.fate == .byRelay:
            // The head unit's own answer is still to come.
            break
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

    /// Head units answer a request even when its JSON cannot be read. A missing answer causes no warning: the
    /// request may have been anything.
    mutating func pair(_ unreadable: UndecodableEntry, _ tapped: TappedFrame) {
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

    mutating func broken(
        _ message: Message, _ problem: AssemblyProblem, _ direction: Direction
    ) -> TrafficEntry {
        entry(
            .undecodable(UndecodableEntry(message, .assembly(problem))),
            app: sessions.app(message.sessionID),
            session: message.sessionID, service: message.service, direction: direction,
            bytes: message.payloadBytes, frames: message.frames)
    }
}
