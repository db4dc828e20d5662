// Rules about requests, their answers and their rate.

import RelayCore
import SDLAdvice
import SDLProtocol

extension AdviceRules {
    // MARK: Rates

    /// Limits of sdl_core 8.2 in its default configuration, as measured, and the counts from which on they
    /// are near.
    private enum Limit {
        /// The 1001st frame ends the session; 900 a second pass indefinitely.
        static let framesPerSecond = 1000
        static let manyFrames = 900
        /// In HMI level NONE, within 10 ms; the 101st may unregister the app. Other levels have no such limit
        /// that an app could reach.
        static let noneRequests = 100
        static let manyNoneRequests = 80
    }

    /// Counts the session's messages and control frames; head units do not count audio and video either.
    mutating func count(_ entry: TrafficEntry) {
        guard entry.direction == .fromApp, let session = entry.sessionID,
            let frames = sessions[session]?.frames.add(entry.frames, at: entry.time),
            frames >= Limit.manyFrames
        else { return }
        advise(
            .frameRate, entry,
            "\(frames) frames in a second; head units end a session at \(Limit.framesPerSecond)")
    }

    private mutating func countRequest(_ entry: TrafficEntry, isInNone: Bool) {
        guard isInNone, let session = entry.sessionID,
            let inNone = sessions[session]?.noneRequests.add(1, at: entry.time),
            inNone >= Limit.manyNoneRequests
        else { return }
        advise(
            .noneRequestRate, entry,
            "\(inNone) requests within 10 ms while in NONE; head units unregister an app at "
                + "\(Limit.noneRequests)")
    }

    // MARK: Requests

    mutating func considerRequest(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        if let replaced = rpc.replaced {
            advise(
                .correlationIDReused, entry,
                "\(Self.name(rpc)) uses the correlation ID of \(replaced.functionID), which still "
                    + "has no answer")
        }
        guard entry.direction == .fromApp else { return }
        countRequest(entry, isInNone: entry.sessionID.map(isInNone) ?? false)
        remember(rpc, entry)
        switch rpc.message.functionID {
        case .registerAppInterface: considerRegistration(rpc, entry, table)
        case .putFile: considerFile(rpc, entry)
        default: break
        }
    }

    private func isInNone(_ session: UInt8) -> Bool {
        sessions[session].map { $0.isRegistered && $0.isInNone } ?? false
    }

    private mutating func adviseNone(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ verdict: PermissionVerdict
    ) {
        advise(
            .requestInNone, entry, cause: rpc.message.functionName,
            "\(Self.name(rpc)): \(verdict.reason)", remedy: verdict.remedy)
    }

    private mutating func remember(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        guard !rpc.validation.isEmpty else { return }
        let errors = rpc.validation.filter(\.isError)
        let problems = errors.isEmpty ? rpc.validation.filter { $0.severity == .warning } : errors
        remember(problems.prefix(3).map(\.description), entry)
    }

    /// Remembers the problems of a request, in case the head unit refuses it.
    mutating func remember(_ problems: [String], _ entry: TrafficEntry) {
        guard !problems.isEmpty else { return }
        if violations.count >= Self.maximumViolations {
            // Half of them at once, because finding the oldest takes a search.
            for number in violations.keys.sorted().prefix(Self.maximumViolations / 2) {
                violations[number] = nil
            }
        }
        violations[entry.number] = problems
    }

    // MARK: Responses

    mutating func considerResponse(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        // An unsolicited response is not an answer to this app.
        guard !rpc.isUnasked else { return considerUnasked(rpc, entry) }
        defer { if let request = rpc.request { violations[request.number] = nil } }
        guard let outcome = rpc.outcome, entry.direction == .fromAccessory else { return }
        let function = rpc.request?.functionID ?? rpc.message.functionID
        if function == .registerAppInterface {
            return considerRegistrationAnswer(outcome, rpc, entry, table)
        }
        guard !outcome.success else {
            if function == .unregisterAppInterface, let session = entry.sessionID {
                sessions[session]?.isRegistered = false
                forget(registered: entry.registeredAppID)
            }
            return
        }
        switch outcome.resultCode {
        case "DISALLOWED", "USER_DISALLOWED", "VEHICLE_DATA_NOT_ALLOWED":
            considerDisallowed(outcome, rpc, entry, table)
        case "INVALID_DATA": considerInvalidData(rpc, entry)
        // A repeated goodbye does no harm.
        case "APPLICATION_NOT_REGISTERED" where function == .unregisterAppInterface: break
        case "APPLICATION_NOT_REGISTERED":
            advise(
                .notRegistered, entry, cause: rpc.message.functionName,
                "\(Self.name(rpc)) was sent while the app was not registered")
        case "ENCRYPTION_NEEDED":
            advise(
                .encryptionNeeded, entry, cause: rpc.message.functionName,
                "\(Self.name(rpc)) is allowed in a protected service only")
        case "CORRUPTED_DATA":
            advise(
                .putFileCRC, entry, "\(Self.name(rpc)): the head unit found the data corrupted")
        case "TOO_MANY_PENDING_REQUESTS":
            advise(
                .requestRate, entry, cause: "pending",
                "\(Self.name(rpc)): too many requests wait for their answer",
                remedy: "wait for answers before sending more")
        default: break
        }
    }

    private mutating func considerUnasked(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        let side = Self.side(entry)
        guard entry.direction == .fromAccessory, let left = unfinished(answeredBy: rpc, entry)
        else {
            return advise(
                .answerUnasked, entry, cause: rpc.message.functionName + side,
                "\(side) answers \(Self.name(rpc)), which nobody asked for",
                remedy: "see whether \(side) answers twice or changes the correlation ID")
        }
        advise(
            .answerUnasked, entry, cause: "unfinished",
            "\(side) answers \(Self.name(rpc)), which an app that had this session before left "
                + "unfinished (\(left.progress))",
            remedy: "ignore this answer: it is not to this run; look at the earlier run's end")
    }

    private mutating func considerDisallowed(
        _ outcome: RPCOutcome, _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        let function = (rpc.request?.functionID).flatMap(\.name) ?? rpc.message.functionName
        let facts = entry.app.flatMap { table.apps[$0] } ?? AppFacts()
        let verdict = PermissionVerdict(function, of: facts)
        let info = rpc.message.parameters.string("info").map { "; the head unit says: \($0)" } ?? ""
        if verdict.cause == .wrongLevel, facts.isInNone {
            return adviseNone(rpc, entry, verdict)
        }
        if verdict.answer == .yes {
            let allowed = verdict.permission?.allowedParameters ?? []
            let why =
                outcome.resultCode == "USER_DISALLOWED"
                ? "the user has refused it"
                : allowed.isEmpty
                    ? "the permissions allow it, so it is one of its parameters, or they changed"
                    : "one of its parameters is not among those allowed: "
                        + allowed.prefix(8).joined(separator: ", ")
                        + (allowed.count > 8 ? ", …" : "")
            return advise(
                .disallowed, entry, cause: function,
                "\(Self.name(rpc)) is \(outcome.resultCode): \(why)\(info)",
                remedy: "compare its parameters with `relayctl permissions APP \(function)`")
        }
        advise(
            .disallowed, entry, cause: function,
            "\(Self.name(rpc)) is \(outcome.resultCode): \(verdict.reason)\(info)",
            remedy: verdict.remedy)
    }

    mutating func considerInvalidData(_ rpc: RPCEntry, _ entry: TrafficEntry) {
        let info = rpc.message.parameters.string("info").map { "; the head unit says: \($0)" } ?? ""
        let function = rpc.request?.functionID.description ?? rpc.message.functionName
        let problems = rpc.request.flatMap { violations[$0.number] }
        let isKnown = rpc.request?.functionID.name != nil
        if let problems, isKnown {
            advise(
                .invalidData, entry, cause: function,
                "\(Self.name(rpc)) is INVALID_DATA: \(problems.joined(separator: "; "))\(info)")
        } else if rpc.message.functionID == .genericResponse || !isKnown, rpc.request != nil {
            advise(
                .invalidData, entry, cause: function,
                "\(Self.name(rpc)) is INVALID_DATA: the head unit does not know this function\(info)",
                remedy: "compare the function with the RPC version both sides agreed on")
        } else {
            advise(
                .invalidData, entry, cause: function,
                "\(Self.name(rpc)) is INVALID_DATA, but nothing in it differs from the RPC "
                    + "specification\(info)",
                remedy: "check images and IDs it refers to, empty texts, and missing bulk data")
        }
    }

    // MARK: Silence and notifications

    mutating func considerSilence(
        _ request: PendingRequest, waited: Int64, _ entry: TrafficEntry
    ) {
        let name = "\(request.functionID) #\(request.correlationID)"
        guard request.direction == .fromApp else {
            return advise(
                .requestUnanswered, entry, cause: request.functionID.description,
                "the app has not answered the head unit's \(name) for \(Self.seconds(waited))",
                remedy: "answer every request of the head unit, if only with UNSUPPORTED_REQUEST")
        }
        let consequence =
            request.functionID == .listFiles
            ? "; app libraries wait for it before the app is ready"
            : request.functionID == .registerAppInterface ? "; the app cannot continue" : ""
        advise(
            .requestUnanswered, entry, cause: request.functionID.description,
            "the head unit has not answered \(name) for \(Self.seconds(waited))\(consequence)",
            remedy: "look at the head unit's own log: its HMI may not have answered it")
    }

    mutating func considerNotification(
        _ rpc: RPCEntry, _ entry: TrafficEntry, _ table: FactsTable
    ) {
        guard entry.direction == .fromAccessory else { return }
        switch rpc.message.functionID {
        case .onAppInterfaceUnregistered: considerUnregistration(rpc.message, entry)
        case .onHMIStatus:
            let parameters = rpc.message.parameters
            // Other windows than the main one are widgets.
            guard let session = entry.sessionID, (parameters.integer("windowID") ?? 0) == 0 else {
                return
            }
            sessions[session]?.isInNone = parameters.string("hmiLevel") == HMILevel.none.rawValue
        default: break
        }
    }
}
