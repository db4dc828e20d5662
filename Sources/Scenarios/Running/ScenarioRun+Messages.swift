import ControlAPI
import MessageFilters

// Which messages end a step, and what it means if none does.

extension ScenarioRun {
    /// Examines the next message not yet examined by a step. False if there is nothing more to
    /// examine now.
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

    func mismatches(
        _ checks: [ScenarioCheck], _ message: ScenarioMessage
    ) throws(ScenarioTextError) -> [ScenarioMismatch] {
        var mismatches: [ScenarioMismatch] = []
        for check in checks {
            let root = message.root(ofMessage: check.path.isOfMessage)
            mismatches += try check.mismatches(in: root, values)
        }
        return mismatches
    }

    func failure(
        _ message: ScenarioMessage, _ mismatches: [ScenarioMismatch], _ wait: ScenarioWait
    ) -> ScenarioFailure {
        ScenarioFailure(
            "the message is not as expected", expected: [wait.words],
            came: [Self.line(message)], mismatches: mismatches)
    }

    mutating func accept(_ message: ScenarioMessage, _ wait: ScenarioWait) {
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

    static func missing(_ capture: Scenario.Capture, in place: String) -> ScenarioFailure {
        ScenarioFailure(
            "there is no \(capture.path) to be captured as \(capture.variable)", came: [place],
            mismatches: [
                ScenarioMismatch(path: capture.path.description, expected: "any value", found: nil)
            ])
    }

    // MARK: Too late

    mutating func timeOut(_ wait: ScenarioWait) {
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
}
