import ControlAPI
import MessageFilters
import SDLProtocol

// How a step begins, what its requests come to, and which messages end it.

extension ScenarioRun {
    // MARK: Beginning

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
        // Nothing to be done for nothing: an app without soft buttons has none that can be pressed.
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

    // MARK: Answers that are prepared

    /// Rules for `answer` steps that are still to come: an app may ask before they are reached. Only behind
    /// steps that wait, and not for what one of these waits for itself.
    mutating func prepareAhead() {
        guard let block = blocks.last else { return }
        var taken: Set<String> = []
        for step in block.steps.dropFirst(block.index).prefix(Self.preparedAhead) {
            // A variable may get its value only by then.
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

    private mutating func prepare(
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

    /// The head unit's answer to what was sent.
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

    // MARK: Messages

    /// Looks at messages that no step has looked at. False when there is nothing more to look at now.
    mutating func look() -> Bool {
        if case .settling(let rpc, _) = state {
            guard let message = log.pop() else { return false }
            if message.fate == "by_relay", message.function == rpc { complete() }
            return true
        }
        guard case .waiting(var wait) = state else { return false }
        if case .stopped = wait.kind {
            guard let step = current, case .rule(let rule)? = prepared[step.number],
                let message = stopped[rule]
            else { return false }
            prepared[step.number] = nil
            stopped[rule] = nil
            ask(.removeFault(rule), for: .forget(rule: rule))
            log.skip(through: message.number)
            answer(message, wait)
            return true
        }
        guard let message = log.pop() else { return false }
        do throws(ScenarioTextError) {
            try consider(message, &wait)
        } catch {
            fail(ScenarioFailure(error.message), .unusable)
        }
        return true
    }

    private mutating func consider(
        _ message: ScenarioMessage, _ wait: inout ScenarioWait
    ) throws(ScenarioTextError) {
        guard message.isOfDialogue, isOf(wait.role, message),
            wait.filter.accepts(message) == true
        else {
            wait.pass(message)
            state = .waiting(wait)
            return
        }
        if case .none = wait.kind {
            fail(
                ScenarioFailure(
                    "a message came that must not come", expected: ["nothing for \(wait.words)"],
                    came: [Self.line(message)]))
            return
        }
        let mismatches = try mismatches(wait.wanted.checks, message)
        if mismatches.isEmpty { return accept(message, wait) }
        guard case .any = wait.kind else {
            fail(failure(message, mismatches, wait))
            return
        }
        wait.nearest = (message, mismatches)
        state = .waiting(wait)
    }

    private func mismatches(
        _ checks: [ScenarioCheck], _ message: ScenarioMessage
    ) throws(ScenarioTextError) -> [ScenarioMismatch] {
        var mismatches: [ScenarioMismatch] = []
        for check in checks {
            let root = message.root(ofMessage: check.path.isOfMessage)
            mismatches += try check.mismatches(in: root, values)
        }
        return mismatches
    }

    private func failure(
        _ message: ScenarioMessage, _ mismatches: [ScenarioMismatch], _ wait: ScenarioWait
    ) -> ScenarioFailure {
        ScenarioFailure(
            "the message is not as expected", expected: [wait.words],
            came: [Self.line(message)], mismatches: mismatches)
    }

    private mutating func accept(_ message: ScenarioMessage, _ wait: ScenarioWait) {
        if let role = wait.role, let app = message.app { connections[role] = app }
        for capture in wait.wanted.captures {
            let root = message.root(ofMessage: capture.path.isOfMessage)
            guard let value = capture.path.value(in: root) else {
                return fail(Self.missing(capture, in: Self.line(message)))
            }
            values[capture.variable] = value
        }
        complete()
    }

    private static func missing(_ capture: Scenario.Capture, in place: String) -> ScenarioFailure {
        ScenarioFailure(
            "there is no \(capture.path) to be captured as \(capture.variable)", came: [place],
            mismatches: [
                ScenarioMismatch(path: capture.path.description, expected: "any value", found: nil)
            ])
    }

    /// A rule has stopped the request: it is judged, and answered if the rule has not.
    private mutating func answer(_ message: ScenarioMessage, _ wait: ScenarioWait) {
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
            // The next step may go on while this is said: it is said before whatever is asked later.
            ask(
                .respond(
                    app: app, rpc: rpc, correlationID: correlation, parameters: .object(members)),
                for: .prepare(step: 0))
        } catch {
            fail(ScenarioFailure(error.message), .unusable)
        }
    }

    /// Result codes of what was done (MOBILE_API, "Result").
    private static let successes: Set<String> = [
        "SUCCESS", "WARNINGS", "RESUME_FAILED", "WRONG_LANGUAGE", "SAVED", "TRUNCATED_DATA",
        "UNSUPPORTED_RESOURCE",
    ]

    // MARK: Too late

    mutating func isLate(_ wait: ScenarioWait) {
        if case .none = wait.kind {
            log.release()
            return complete()
        }
        if let nearest = wait.nearest {
            var failure = failure(nearest.message, nearest.mismatches, wait)
            failure.summary = "no message was as expected; the latest that comes close is this"
            return fail(failure)
        }
        fail(
            ScenarioFailure(
                "the message did not come", expected: [wait.words], came: came(wait)))
    }

    func came(_ wait: ScenarioWait) -> [String] {
        guard wait.otherCount > 0 else { return ["nothing"] }
        let count = wait.otherCount
        let more = count > wait.others.count ? ", the latest of them" : ""
        return ["\(count) other message\(count == 1 ? "" : "s")\(more):"]
            + wait.others.map(Self.line)
    }

    static func line(_ message: ScenarioMessage) -> String {
        "#\(message.number) \(message.words)"
    }

    // MARK: Apps

    /// Whether the message is about the app of a role; of no role any is.
    func isOf(_ role: String?, _ message: ScenarioMessage) -> Bool {
        guard let role, let app = scenario.apps.first(where: { $0.role == role }) else {
            return true
        }
        guard let number = message.app else { return false }
        switch app.kind {
        case .connects("*"):
            // Not those that have a role of their own.
            return !connections.contains { $0.key != role && $0.value == number }
        case .connects(let pattern):
            let term = FilterTerm.app(TextPattern(typed: pattern), connection: nil)
            return connections[role] == number || message.holds(term) == true
        case .sample(let name, _), .own(let name, _, _):
            return connections[role] == number || message.appName == name
        }
    }

    /// The filter for the app of a role alone.
    func ofRole(_ role: String?, _ filter: String) -> String {
        guard let role, let app = scenario.apps.first(where: { $0.role == role }) else {
            return filter
        }
        let sign: String
        let name: String
        switch app.kind {
        case .connects("*"): return filter
        case .connects(let pattern): (sign, name) = (":", pattern)
        case .sample(let whole, _), .own(let whole, _, _): (sign, name) = ("=", whole)
        }
        let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "app\(sign)\"\(quoted)\" (\(filter))"
    }

    func target(_ role: String?) -> ScenarioTarget {
        let app = scenario.apps.first { $0.role == role }
        let pattern =
            switch app?.kind {
            case .connects(let pattern)?: pattern
            case .sample(let name, _)?, .own(let name, _, _)?: name
            case nil: "*"
            }
        return ScenarioTarget(
            role: role ?? "", connection: role.flatMap { connections[$0] }, pattern: pattern)
    }
}
