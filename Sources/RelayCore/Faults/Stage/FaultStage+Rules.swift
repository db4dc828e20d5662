// Which rule takes a message.

import MessageFilters
import NIOCore
import SDLProtocol

extension FaultStage {
    // MARK: - Rules come and go

    mutating func add(_ rule: FaultRule, id: UInt32, at now: NIODeadline, _ time: WallTime) {
        rules.append(Active(id: id, rule: rule, addedAt: now, addedTime: time))
        rulesHaveChanged(at: now)
    }

    /// What the rule holds passes at once; a message that it has begun to drop is dropped to its end.
    ///
    /// - Returns: False when there is no such rule.
    @discardableResult
    mutating func remove(_ id: UInt32, at now: NIODeadline) -> Bool {
        guard let index = rules.firstIndex(where: { $0.id == id }) else { return false }
        rules.remove(at: index)
        release(at: now) { $0.rule == id }
        rulesHaveChanged(at: now)
        return true
    }

    mutating func removeAll(at now: NIODeadline) {
        rules = []
        release(at: now) { _ in true }
        rulesHaveChanged(at: now)
    }

    /// Rules that could hurt other apps on a real head unit's link, and are not allowed to.
    var harmful: [UInt32] {
        rules.filter { $0.rule.harmsHeadUnit && !$0.rule.mayHarmOthers }.map(\.id)
    }

    private mutating func rulesHaveChanged(at now: NIODeadline) {
        candidates = [:]
        shortcut.forget()
        release(at: now) { $0.undecided != nil }
    }

    // MARK: - Names

    /// Sets what is known of an app, also of one that registered before there were rules.
    mutating func know(_ app: App, _ known: FaultAppFacts) {
        guard facts[app] != known else { return }
        facts[app] = known
        candidates = [:]
        shortcut.forget()
    }

    /// Learns an app's name when it registers: rules know it from that message on.
    mutating func learn(_ frame: Frame, of app: App) {
        guard frame.type == .single, frame.service.carriesRPC, !frame.isEncrypted,
            frame.version > 1,
            let first = frame.wire.getInteger(
                at: frame.wire.readerIndex + frame.headerBytes, as: UInt32.self),
            first == FunctionID.registerAppInterface.rawValue
        else { return }
        let payload = frame.payload
        guard let header = RPCHeader(payload), header.jsonBytes <= FaultLimits.jsonBytes,
            let json = payload.getSlice(
                at: payload.readerIndex + RPCHeader.bytes, length: header.jsonBytes),
            let parameters = try? JSONObject(json)
        else { return }
        var known = facts[app] ?? FaultAppFacts(connection: 0)
        known.name = parameters.string("appName")
            .map { PrintableText.string($0, limit: Self.nameLength) }
        known.appID = (parameters.string("fullAppID") ?? parameters.string("appID"))
            .map { PrintableText.string($0, limit: Self.nameLength) }
        know(app, known)
    }

    private static var nameLength: Int { 200 }

    // MARK: - Matching

    /// Chooses the rule that takes the message, and counts the message for it.
    ///
    /// - Parameters:
    ///   - payload: The payload of the frame with the RPC header.
    ///   - bytes: Bytes of the whole message.
    ///   - frame: The first frame of the message.
    mutating func chooseRule(
        for header: FaultHeader, of app: App, payload: ByteBuffer, bytes: Int, frame: Frame,
        at now: NIODeadline
    ) -> Int? {
        let possible = candidates(for: header, of: app)
        guard !possible.isEmpty else { return nil }
        var subject: FaultSubject?
        for candidate in possible {
            let active = rules[candidate.index]
            guard active.isOn(at: now),
                !active.rule.action.needsSingle || frame.type == .single
            else { continue }
            if !candidate.isCertain {
                let asked =
                    subject
                    ?? FaultSubject(
                        FaultHeaderSubject(header: header, app: facts(of: app)), payload: payload,
                        bytes: bytes)
                subject = asked
                guard active.rule.expression.accepts(asked) == true else { continue }
            }
            rules[candidate.index].matched += 1
            guard dice.falls(within: active.rule.probability) else { continue }
            rules[candidate.index].hits += 1
            let hits = active.hits + 1
            if HubReporter.isWorthALine(hits) {
                effects.append(.report(rule: active.id, hits: hits))
            }
            return candidate.index
        }
        return nil
    }

    /// Rules that may take such a message, in order; looked up once for each kind.
    mutating func candidates(for header: FaultHeader, of app: App) -> [Candidate] {
        let key = CandidateKey(app: app, header: header.packed)
        if let known = candidates[key] { return known }
        if candidates.count >= FaultLimits.remembered { candidates = [:] }
        let subject = FaultHeaderSubject(header: header, app: facts(of: app))
        var found: [Candidate] = []
        for index in rules.indices {
            let rule = rules[index].rule
            guard rule.action.isFor(header), let isCertain = rule.expression.isCertain(of: subject)
            else { continue }
            found.append(Candidate(index: index, isCertain: isCertain))
        }
        candidates[key] = found
        return found
    }

    private func facts(of app: App) -> FaultAppFacts {
        facts[app] ?? FaultAppFacts(connection: 0)
    }
}

extension FilterExpression {
    /// Nil when it rejects the message, false when the decision depends on more than the header.
    fileprivate func isCertain(of subject: FaultHeaderSubject) -> Bool? {
        switch accepts(subject) {
        case false?: nil
        case true?: true
        case nil: false
        }
    }
}

extension FaultAction {
    /// Whether the action can be done to such messages at all.
    fileprivate func isFor(_ header: FaultHeader) -> Bool {
        switch self {
        case .nak: header.isStartService
        case .answer: header.kind == .request || header.kind == .unknown
        default: !needsData || header.kind != .control
        }
    }
}
