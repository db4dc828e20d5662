import ControlAPI
import MessageFilters

// How a step begins, and what the replies to its requests mean.

extension ScenarioRun {
    mutating func begin(_ step: Scenario.Step) throws(ScenarioTextError) {
        switch step.content {
        case .wait(let wanted): try wait(.next, wanted, step, Self.usualWait)
        case .expect(let wanted): try wait(.any, wanted, step, Self.usualExpectation)
        case .never(let filter, let time):
            let wanted = Scenario.Wanted(filter: filter, time: time, checks: [], captures: [])
            try wait(.none, wanted, step, Self.usualExpectation)
            log.hold()
        case .answer(let answer):
            try prepare(step, answer)
            try wait(.stopped, answer.request, step, Self.usualWait)
        case .inject(let said):
            ask(
                .inject(
                    target(step.app), words: try said.words.filled(values),
                    parameters: try said.parameters?.filled(values)), for: .step)
            state = .asked
        case .send(let said, _, let answer):
            ask(
                .send(
                    target(step.app), rpc: try said.words.filled(values),
                    parameters: try said.parameters?.filled(values),
                    patience: try time(answer.time, Self.usualAnswer)), for: .step)
            state = .asked
        case .fault(let filter, let action, _):
            let action = try action.filled(values)
            if let filter {
                let filter = try filter.filled(values, isFilter: true)
                ask(.addFault(filter: ofRole(step.app, filter), action: action), for: .step)
            } else {
                ask(.addLinkFault(action), for: .step)
            }
            state = .asked
        case .remove(let name):
            guard let rule = namedFaults.removeValue(forKey: name) else { return complete() }
            ask(.removeFault(rule), for: .forget(rule: rule))
            complete()
        case .disconnect:
            ask(.disconnect(target(step.app)), for: .step)
            state = .asked
        case .pause(let time): state = .pausing(until: now + (try self.time(time, .zero)))
        case .repetition(let over, let variable, let steps):
            try repeatSteps(over, variable, steps)
        }
    }

    private mutating func wait(
        _ kind: ScenarioWait.Kind, _ wanted: Scenario.Wanted, _ step: Scenario.Step,
        _ usual: Duration
    ) throws(ScenarioTextError) {
        let text = try wanted.filter.filled(values, isFilter: true)
        let filter: FilterExpression
        do throws(FilterError) {
            filter = try FilterExpression(text, names: .ofScenarios)
        } catch {
            throw ScenarioTextError(
                "\(ScenarioWord.line(error.message)), in the filter \"\(ScenarioWord.shown(text))\""
            )
        }
        let time = try time(wanted.time, usual)
        state = .waiting(
            ScenarioWait(
                kind: kind, filter: filter, role: step.app, wanted: wanted, deadline: now + time,
                words: "\(text) within \(ScenarioWord.text(time))"))
        prepareAhead()
    }

    private mutating func repeatSteps(
        _ over: ScenarioText, _ variable: String?, _ steps: [Scenario.Step]
    ) throws(ScenarioTextError) {
        let value = try over.value(values)
        let items: [AnyJSON]
        switch value {
        case .array(let elements): items = elements
        case .integer(let count) where (0...ScenarioLimits.times).contains(count):
            items = (0..<count).map { .integer($0 + 1) }
        default:
            guard let count = Int(value.plainText), (0...ScenarioLimits.times).contains(count)
            else {
                throw ScenarioTextError(
                    "repeat: found \(value.shown); expected a list, or a number of at most "
                        + "\(ScenarioLimits.times)")
            }
            items = (0..<count).map { .integer($0 + 1) }
        }
        guard items.count <= ScenarioLimits.times else {
            throw ScenarioTextError("repeat: expected at most \(ScenarioLimits.times) repetitions")
        }
        // An empty list needs no steps: an app without soft buttons has none to press.
        guard let first = items.first else { return complete() }
        if let variable { values[variable] = first }
        blocks.append(
            Block(steps: steps, variable: variable, rest: items.dropFirst(), total: items.count))
    }

    func time(_ text: ScenarioText?, _ usual: Duration) throws(ScenarioTextError) -> Duration {
        guard let text else { return usual }
        let filled = try text.filled(values)
        guard let time = ScenarioWord.time(filled) else {
            throw ScenarioTextError(
                "found \"\(ScenarioWord.shown(filled))\"; expected \(ScenarioWord.timeExample)")
        }
        return time
    }

    // MARK: Replies

    mutating func take(_ reply: ScenarioReply, for purpose: Purpose) {
        switch (reply, purpose) {
        case (_, .forget): break
        case (.unusable(let reason), _): fail(ScenarioFailure(reason), .unusable)
        case (.started(let number), .start(let role)):
            guard case .starting(var roles) = state else { return }
            connections[role] = number
            roles.remove(role)
            state = roles.isEmpty ? .ready : .starting(roles)
        case (.refused(let reason), .start(let role)):
            fail(ScenarioFailure("the app \(role) cannot be started: \(reason)"), .unusable)
        case (.refused(let reason), _): fail(ScenarioFailure(reason))
        case (.faultAdded(let rule?), .prepare(let step)): prepared[step] = .rule(rule)
        case (.faultAdded(let rule), .step):
            if case .fault(_, _, let name?)? = current?.content { namedFaults[name] = rule }
            complete()
        case (.said(let rpc), .step): state = .settling(rpc: rpc, until: now + Self.settling)
        case (.answered(let success, let result, let parameters), .step):
            judge(success, result, parameters)
        case (_, .step): complete()
        default: break
        }
    }

    var current: Scenario.Step? {
        guard let block = blocks.last, block.index < block.steps.count else { return nil }
        return block.steps[block.index]
    }

    /// Checks the head unit's answer to what was sent.
    private mutating func judge(_ success: Bool, _ code: String, _ parameters: AnyJSON) {
        guard let step = current, case .send(let said, let result, let answer) = step.content else {
            return
        }
        do throws(ScenarioTextError) {
            var mismatches: [ScenarioMismatch] = []
            let judgesResult = answer.checks.contains {
                ["resultCode", "success"].contains($0.path.description)
            }
            if let wanted = try result?.filled(values), wanted != code {
                mismatches.append(
                    ScenarioMismatch(
                        path: "resultCode", expected: AnyJSON.string(wanted).shown,
                        found: AnyJSON.string(code).shown))
            } else if result == nil, !success, !judgesResult {
                mismatches.append(
                    ScenarioMismatch(
                        path: "success", expected: "true",
                        found: "false, \(ScenarioWord.shown(code))"))
            }
            for check in answer.checks {
                mismatches += try check.mismatches(in: parameters, values)
            }
            guard mismatches.isEmpty else {
                fail(
                    ScenarioFailure(
                        "the head unit's answer to \(said.words) is not as expected",
                        mismatches: mismatches))
                return
            }
            for capture in answer.captures {
                guard let value = capture.path.value(in: parameters) else {
                    return fail(Self.missing(capture, in: "the answer"))
                }
                values[capture.variable] = value
            }
        } catch {
            fail(ScenarioFailure(error.message), .unusable)
            return
        }
        complete()
    }
}
