import ControlAPI
package import RelayCore
import SDLProtocol
package import SDLTraffic

/// Answers requests about fault rules, and adds and removes rules. `ControlResponder` has decided
/// before who may do so.
package struct FaultHandlers: Sendable {
    let relay: Relay?
    let facts: SessionFacts
    /// The accessory's address.
    let address: @Sendable () -> String
    /// Closes and reopens the link.
    let reopen: @Sendable (_ reason: String?) async throws -> Void

    package init(
        _ relay: Relay?, facts: SessionFacts, address: @escaping @Sendable () -> String,
        reopen: @escaping @Sendable (_ reason: String?) async throws -> Void
    ) {
        (self.relay, self.facts, self.address, self.reopen) = (relay, facts, address, reopen)
    }

    /// For a server without a relay behind it.
    package static let none = FaultHandlers(
        nil, facts: SessionFacts(), address: { "" }, reopen: { _ in })

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.faults) { _, _ in try ControlResponse.json(try await list()) }
        routes.post(Routes.faults) { request, context in
            let wanted = try await request.controlBody(
                FaultRequest.self,
                example: #"{"rules": [{"filter": "rpc:PutFile", "action": "delay 2s"}]}"#)
            return try .json(try await add(wanted, context))
        }
        routes.delete(Routes.faults) { _, context in try await clear(context) }
        routes.delete(Routes.fault) { _, context in
            try .json(try await remove(context.segment("id"), context))
        }
    }

    // MARK: In the order of the routes

    private func list() async throws -> FaultList {
        guard let relay else { return FaultList(rules: []) }
        guard let snapshot = try await relay.faults() else { throw wrongAccessory }
        return FaultList(snapshot)
    }

    /// For requests, and for scenarios that relayd runs.
    func add(_ wanted: FaultRequest, _ context: RouteContext) async throws -> FaultList {
        try context.drive.check()
        if wanted.link == "unplug", (wanted.rules ?? []).isEmpty {
            guard relay != nil, try await relay?.faults() != nil else { throw wrongAccessory }
            try await reopen("unplugged by a fault rule")
            context.audit("unplugged the link")
            return FaultList(summary: "the link is closed and opened again", rules: [])
        }
        let rules = try rules(wanted)
        guard !rules.isEmpty else {
            throw APIError(
                .badRequest,
                "there is no rule in this body; expected \"rules\" or \"link\", such as "
                    + #"{"rules": [{"filter": "rpc:PutFile", "action": "delay 2s"}]}"#)
        }
        let numbers = try await added(rules)
        do {
            try context.drive.check()
        } catch {
            for number in numbers { _ = try await relay?.removeFault(number) }
            throw error
        }
        let all = try await list()
        let new = all.rules.filter { numbers.contains(UInt32(clamping: $0.id)) }
        for rule in new {
            context.audit(
                "added fault rule \(rule.id): \(PrintableText.string(rule.text, limit: 300))")
        }
        let summary =
            new.count == 1
            ? "fault rule \(new.first?.id ?? 0) added" : "\(numbers.count) fault rules added"
        return FaultList(
            summary: summary, rules: new, heldFrames: all.heldFrames, heldBytes: all.heldBytes)
    }

    private func clear(_ context: RouteContext) async throws -> ControlResponse {
        guard let relay, try await relay.faults() != nil else { throw wrongAccessory }
        let count = try await relay.removeFaults()
        context.audit("removed all \(count) fault rules")
        return try .json(
            ActionReport(
                summary: count == 0
                    ? "there were no fault rules"
                    : "\(count) fault rule\(count == 1 ? "" : "s") removed; what was held passes"))
    }

    /// - Parameter text: Its number.
    func remove(_ text: String, _ context: RouteContext) async throws -> ActionReport {
        guard let relay, try await relay.faults() != nil else { throw wrongAccessory }
        guard let id = UInt32(text) else {
            throw APIError(
                .badRequest,
                "'\(PrintableText.string(text, limit: 40))' is no number of a fault rule; "
                    + "relayctl fault list shows them")
        }
        guard try await relay.removeFault(id) else {
            throw APIError(
                .notFound, "there is no fault rule \(id); relayctl fault list shows them")
        }
        context.audit("removed fault rule \(id)")
        return ActionReport(summary: "fault rule \(id) removed; what it held passes")
    }

    // MARK: Rules

    private func rules(_ wanted: FaultRequest) throws(APIError) -> [FaultRule] {
        let requests = wanted.rules ?? []
        var rules: [FaultRule] = []
        for (index, request) in requests.enumerated() {
            let place = requests.count > 1 ? "rule \(index + 1): " : ""
            do throws(FaultRuleError) {
                rules.append(
                    try FaultRule(
                        filter: request.filter, action: request.action,
                        mayHarmOthers: wanted.mayHarmOthers ?? false,
                        isHeadUnitReal: Switchboard.isReal(address())))
            } catch {
                throw APIError(.badRequest, place + error.pointing(in: request))
            }
        }
        if let link = wanted.link {
            do throws(FaultRuleError) {
                if let rule = try FaultRule.link(link) {
                    rules.append(rule)
                } else {
                    throw FaultRuleError(
                        .action, 0..<link.unicodeScalars.count, "unplug goes without rules")
                }
            } catch {
                throw APIError(.badRequest, "link: \(error.message)")
            }
        }
        return rules
    }

    private func added(_ rules: [FaultRule]) async throws -> [UInt32] {
        do {
            guard let relay, let numbers = try await relay.addFaults(rules, knowing: known())
            else { throw wrongAccessory }
            // From now on the rules hear the names of those who register. The observers, which know who has
            // registered before, are some milliseconds behind.
            await relay.observersCatchUp(within: ControlLimits.observersPatience)
            try await relay.faultsKnow(known())
            return numbers
        } catch is FaultsFull {
            throw APIError(
                .conflict,
                "there may be \(FaultLimits.rules) fault rules; remove some first (relayctl fault "
                    + "remove, relayctl fault clear)")
        }
    }

    private func known() -> [AppID: FaultAppFacts] {
        facts.facts().reduce(into: [:]) { known, app in
            known[app.key] = FaultAppFacts(
                connection: app.key.rawValue, name: app.value.name, appID: app.value.appID)
        }
    }

    private var wrongAccessory: APIError {
        APIError(
            .wrongAccessory,
            "the accessory \(address()) is no SDL head unit, and there are no fault rules for it")
    }
}

extension FaultRuleError {
    /// The message, with the place of the mistake.
    fileprivate func pointing(in request: FaultRuleRequest) -> String {
        let text = part == .filter ? request.filter : request.action
        let letters = Array(text.unicodeScalars)
        let place = range.clamped(to: 0..<letters.count)
        let found = String(String.UnicodeScalarView(letters[place]))
        guard !found.isEmpty, place != 0..<letters.count else {
            return "\(part.rawValue): \(message)"
        }
        return
            "\(part.rawValue), at '\(PrintableText.string(found, limit: 60))' "
            + "(character \(place.lowerBound + 1)): \(message)"
    }
}

extension FaultList {
    init(_ snapshot: FaultsSnapshot) {
        self.init(
            rules: snapshot.rules.map(FaultRuleReport.init), heldFrames: snapshot.heldFrames,
            heldBytes: snapshot.heldBytes)
    }
}

extension FaultRuleReport {
    init(_ rule: FaultsSnapshot.Rule) {
        func milliseconds(_ nanoseconds: Int64?) -> Int? { nanoseconds.map { Int($0 / 1_000_000) } }
        self.init(
            id: Int(rule.id), filter: rule.rule.filter, action: "\(rule.rule.action)",
            link: rule.rule.isOfLink, probability: rule.rule.probability,
            count: rule.rule.count.map { Int(clamping: $0) },
            fromMilliseconds: milliseconds(rule.rule.from?.nanoseconds),
            untilMilliseconds: milliseconds(rule.rule.until?.nanoseconds),
            mayHarmOthers: rule.rule.mayHarmOthers, addedAt: Timestamp(rule.addedAt),
            state: FaultState(rawValue: rule.state.rawValue),
            matched: Int(clamping: rule.matched), hits: Int(clamping: rule.hits))
    }

    /// The rule as text for the log.
    fileprivate var text: String {
        (link ? "link \(filter)" : filter) + " -> \(action)"
            + (mayHarmOthers ? " (may harm others)" : "")
    }
}

extension FaultStatus {
    /// Nil while there is nothing to report.
    init?(_ snapshot: FaultsSnapshot?) {
        guard let snapshot, !snapshot.rules.isEmpty || snapshot.heldFrames > 0 else { return nil }
        self.init(
            rules: snapshot.rules.count,
            hits: Int(clamping: snapshot.rules.reduce(0) { $0 &+ $1.hits }),
            heldFrames: snapshot.heldFrames, heldBytes: snapshot.heldBytes,
            first: snapshot.rules.prefix(Self.mostShown).map(FaultRuleReport.init))
    }
}
