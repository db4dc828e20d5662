import ControlAPI
import MessageFilters

// Requests that the scenario answers: prepared before the app asks, and checked when it has asked.

extension ScenarioRun {
    /// Prepares rules for `answer` steps that are still to come: an app may ask before they are reached.
    /// Looks only past steps that wait, and stops at an answer to an RPC that one of these may be
    /// waiting for itself.
    mutating func prepareAhead() {
        guard let block = blocks.last else { return }
        var taken: Set<String> = []
        for step in block.steps.dropFirst(block.index).prefix(Self.preparedAhead) {
            // A variable may not have its value before that step.
            do throws(ScenarioTextError) {
                switch step.content {
                case .wait(let wanted), .expect(let wanted):
                    guard let names = try functions(wanted) else { return }
                    taken.formUnion(names)
                case .answer(let answer):
                    guard let names = try functions(answer.request), names.isDisjoint(with: taken)
                    else { return }
                    try prepare(step, answer)
                default: return
                }
            } catch {
                return
            }
        }
    }

    /// The RPCs that a filter can accept; nil for any.
    private func functions(
        _ wanted: Scenario.Wanted
    ) throws(ScenarioTextError) -> Set<String>? {
        let text = try wanted.filter.filled(values, isFilter: true)
        guard let filter = try? FilterExpression(text, names: .ofScenarios) else { return nil }
        for node in filter.required {
            switch node {
            case .term(.name(.rpc, _, let names)): return names
            case .either(let terms):
                var all: Set<String> = []
                for case .name(.rpc, _, let names) in terms { all.formUnion(names) }
                if !all.isEmpty { return all }
            default: break
            }
        }
        return nil
    }

    mutating func prepare(
        _ step: Scenario.Step, _ answer: Scenario.Answer
    ) throws(ScenarioTextError) {
        guard prepared[step.number] == nil else { return }
        let filter = try answer.request.filter.filled(values, isFilter: true)
        let action = answer.action(
            result: try answer.result.filled(values), info: try answer.info?.filled(values))
        // Notifications have no answer.
        let requests = answer.parameters == nil ? "" : " kind:request from:app"
        prepared[step.number] = .asked
        ask(
            .addFault(
                filter: ofRole(step.app, requests.isEmpty ? filter : "(\(filter))\(requests)"),
                action: action),
            for: .prepare(step: step.number))
    }

    /// Called when a rule has stopped the request: checks it, and answers it if the rule has not.
    mutating func answer(_ message: ScenarioMessage, _ wait: ScenarioWait) {
        guard let step = current, case .answer(let answer) = step.content else { return }
        do throws(ScenarioTextError) {
            let mismatches = try mismatches(answer.request.checks, message)
            guard mismatches.isEmpty else { return fail(failure(message, mismatches, wait)) }
            guard let parameters = try answer.parameters?.filled(values) else {
                return accept(message, wait)
            }
            guard let app = message.app, let rpc = message.function,
                let correlation = message.correlationID
            else {
                return fail(
                    ScenarioFailure(
                        "the request came in several frames, so that it can be answered with a result "
                            + "and words only; leave out parameters:", came: [Self.line(message)]),
                    .unusable)
            }
            let result = try answer.result.filled(values)
            var members: [String: AnyJSON] = [
                "success": .bool(Self.successes.contains(result)), "resultCode": .string(result),
            ]
            if let info = try answer.info?.filled(values) { members["info"] = .string(info) }
            if case .object(let more) = parameters { members.merge(more) { $1 } }
            accept(message, wait)
            guard outcome == nil else { return }
            // The next step may begin while this is sent: it is sent before anything requested
            // later.
            ask(
                .respond(
                    app: app, rpc: rpc, correlationID: correlation, parameters: .object(members)),
                for: .prepare(step: 0))
        } catch {
            fail(ScenarioFailure(error.message), .unusable)
        }
    }

    /// Result codes of requests that were done (MOBILE_API, "Result").
    private static let successes: Set<String> = [
        "SUCCESS", "WARNINGS", "RESUME_FAILED", "WRONG_LANGUAGE", "SAVED", "TRUNCATED_DATA",
        "UNSUPPORTED_RESOURCE",
    ]
}
