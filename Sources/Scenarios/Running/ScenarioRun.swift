package import ControlAPI
import MessageFilters
import SDLProtocol
import YAML

/// Follows a scenario: receives messages, replies to its requests and the time, and says what to do next.
/// A value without sockets or clocks; times are since the run began. Its owner carries out
/// `takeRequests()` after each event, calls `advance` at `nextDeadline`, and removes `faults` once there
/// is an `outcome`.
package struct ScenarioRun: Sendable {
    package let scenario: Scenario
    package internal(set) var outcome: ScenarioResult.Outcome?
    /// Fault rules of this run that exist now.
    package internal(set) var faults: Set<Int> = []
    /// Why the scenario could not be used, if no step says so.
    package internal(set) var problem: String?

    var values: [String: AnyJSON]
    /// Connection of each role, once it is known.
    var connections: [String: Int] = [:]
    var namedFaults: [String: Int] = [:]

    /// Messages that no step has examined yet, and a few before them.
    var log = ScenarioLog()
    /// Requests that a rule of this run has stopped, by the rule's number.
    var stopped: [Int: ScenarioMessage] = [:]

    var blocks: [Block]
    var state = State.ready
    /// The apps that the scenario brings along have been requested.
    private var areAppsStarted = false
    var now = Duration.zero
    var results: [ScenarioResult.Step]
    /// When the current step of the scenario began.
    var stepBegan = Duration.zero
    var stepsTaken = 0

    private var requests: [ScenarioRequest] = []
    private var lastRequest = 0
    /// The purpose of each open request.
    var open: [Int: Purpose] = [:]
    /// Rules for `answer` steps that are still to come, by the number of the step.
    var prepared: [Int: Preparation] = [:]

    /// Steps that are run one after the other.
    struct Block: Sendable {
        var steps: [Scenario.Step]
        var index = 0
        var variable: String?
        /// The values still to repeat for.
        var rest: ArraySlice<AnyJSON> = []
        var count = 1
        var total = 1
    }

    enum Purpose: Sendable, Equatable {
        case start(role: String)
        /// The current step waits for the reply.
        case step
        case prepare(step: Int)
        case forget(rule: Int)
    }

    enum Preparation: Sendable, Equatable {
        case asked
        case rule(Int)
    }

    enum State: Sendable {
        /// Roles of apps that have not started yet.
        case starting(Set<String>)
        case ready
        case waiting(ScenarioWait)
        /// A request of the current step is open.
        case asked
        /// Waits until an RPC sent to an app shows up in the stream: messages after it may be its
        /// effect.
        case settling(rpc: String, until: Duration)
        case pausing(until: Duration)
        case over
    }

    /// How long a step waits by default.
    static let usualWait = Duration.seconds(30)
    static let usualExpectation = Duration.seconds(5)
    static let usualAnswer = Duration.seconds(10)
    /// An RPC that was sent shows up in the stream within milliseconds.
    static let settling = Duration.seconds(2)
    /// Number of steps searched for `answer` steps to prepare.
    static let preparedAhead = 16

    /// - Parameter values: Values of variables chosen for this run.
    package init(_ scenario: Scenario, values: [String: AnyJSON] = [:]) {
        self.scenario = scenario
        self.values = scenario.variables.merging(values) { $1 }
        blocks = [Block(steps: scenario.steps)]
        results = scenario.steps.map { step in
            ScenarioResult.Step(
                number: step.number, line: step.place.line, words: step.summary, outcome: .skipped,
                time: .zero)
        }
    }

    // MARK: Events

    /// Begins with the faults that precede all other steps. Then the apps that the scenario brings along are
    /// started; their first messages must not come before the faults and answers meant for them.
    package mutating func begin() { proceed() }

    private mutating func startApps() {
        areAppsStarted = true
        let brought = scenario.apps.filter {
            if case .connects = $0.kind { false } else { true }
        }
        guard !brought.isEmpty else { return }
        state = .starting(Set(brought.map(\.role)))
        // Requests are carried out in order.
        prepareAhead()
        for app in brought { ask(.start(app), for: .start(role: app.role)) }
    }

    package mutating func receive(_ messages: [ScenarioMessage], at now: Duration) {
        guard outcome == nil else { return }
        self.now = max(now, self.now)
        for message in messages {
            if message.event == "app_left", let app = message.app {
                for (role, connection) in connections where connection == app {
                    connections[role] = nil
                }
            }
            if message.kind == "dropped", let rule = message.faultRule, stopped[rule] == nil,
                stopped.count < ScenarioLimits.messages
            {
                stopped[rule] = message
            }
            guard log.append(message) else {
                fail(
                    ScenarioFailure(
                        "more than \(ScenarioLimits.messages) messages came that no step has looked at"
                    ),
                    .unusable)
                return
            }
        }
        proceed()
    }

    package mutating func receive(_ reply: ScenarioReply, to id: Int, at now: Duration) {
        self.now = max(now, self.now)
        guard let purpose = open.removeValue(forKey: id) else { return }
        // Even when the run is over: the cleanup has to know of it.
        if case .faultAdded(let rule?) = reply { faults.insert(rule) }
        if case .forget(let rule) = purpose { faults.remove(rule) }
        guard outcome == nil else { return }
        take(reply, for: purpose)
        proceed()
    }

    package mutating func advance(to now: Duration) {
        guard outcome == nil else { return }
        self.now = max(now, self.now)
        if self.now >= scenario.limit {
            let limit = ScenarioWord.text(scenario.limit)
            var failure = ScenarioFailure("the scenario has not ended within \(limit) (limit)")
            if case .waiting(let wait) = state { failure.came = came(wait) }
            fail(failure)
            return
        }
        switch state {
        case .pausing(let end) where end <= self.now: complete()
        case .settling(_, let end) where end <= self.now: complete()
        case .waiting(let wait) where wait.deadline <= self.now: timeOut(wait)
        default: break
        }
        proceed()
    }

    /// Stops the run: relayd is no longer available, or somebody wants it to end.
    package mutating func stop(_ reason: String) {
        guard outcome == nil else { return }
        fail(ScenarioFailure(reason), .unusable)
    }

    // MARK: Requests

    /// The requests to carry out, in this order; each has to be answered.
    package mutating func takeRequests() -> [ScenarioRequest] {
        defer { requests = [] }
        return requests
    }

    /// Whether there are unanswered requests.
    package var isWaitingForReplies: Bool { !open.isEmpty }

    /// When `advance` has to be called if nothing else happens.
    package var nextDeadline: Duration? {
        guard outcome == nil else { return nil }
        switch state {
        case .pausing(let end), .settling(_, let end): return min(end, scenario.limit)
        case .waiting(let wait): return min(wait.deadline, scenario.limit)
        default: return scenario.limit
        }
    }

    mutating func ask(_ action: ScenarioAction, for purpose: Purpose) {
        lastRequest += 1
        open[lastRequest] = purpose
        requests.append(ScenarioRequest(id: lastRequest, action: action))
    }

    /// The steps of the scenario, and their results so far.
    package var steps: [ScenarioResult.Step] { results }

    /// The current step of the scenario; nil before the first and after the last.
    package var stepTaken: ScenarioResult.Step? {
        if case .starting = state { return nil }
        guard outcome == nil, let block = blocks.first, results.indices.contains(block.index) else {
            return nil
        }
        return results[block.index]
    }

    /// The result, once there is an `outcome`.
    package func result(file: String) -> ScenarioResult {
        ScenarioResult(
            file: file, name: scenario.name, time: now, outcome: outcome ?? .unusable,
            steps: results,
            problem: problem)
    }

    // MARK: Running steps

    /// Runs steps until there is something to wait for.
    mutating func proceed() {
        while outcome == nil {
            switch state {
            case .ready: takeStep()
            case .waiting, .settling:
                guard look() else { return }
            case .starting, .asked, .pausing, .over: return
            }
        }
    }

    private mutating func takeStep() {
        if !areAppsStarted, current?.isFault != true { return startApps() }
        guard let block = blocks.last else {
            outcome = .passed
            state = .over
            return
        }
        guard block.index < block.steps.count else { return endBlock() }
        stepsTaken += 1
        guard stepsTaken <= ScenarioLimits.stepsTaken else {
            fail(
                ScenarioFailure(
                    "more than \(ScenarioLimits.stepsTaken) steps were taken, repetitions counted"),
                .unusable)
            return
        }
        if blocks.count == 1 { stepBegan = now }
        do throws(ScenarioTextError) {
            try begin(block.steps[block.index])
        } catch {
            fail(ScenarioFailure(error.message), .unusable)
        }
    }

    private mutating func endBlock() {
        guard var block = blocks.popLast(), !blocks.isEmpty else {
            blocks = []
            return
        }
        guard let next = block.rest.popFirst() else {
            // The repetition itself is done.
            complete()
            return
        }
        if let variable = block.variable { values[variable] = next }
        block.index = 0
        block.count += 1
        blocks.append(block)
    }

    /// The current step is done.
    mutating func complete() {
        guard let last = blocks.indices.last else { return }
        if last == 0 { close(.passed, nil) }
        blocks[last].index += 1
        state = .ready
    }

    mutating func fail(
        _ failure: ScenarioFailure, _ outcome: ScenarioResult.Outcome = .failed
    ) {
        var failure = failure
        if let place = repetition { failure.summary += place }
        close(outcome == .failed ? .failed : .unusable, failure)
        self.outcome = outcome
        state = .over
    }

    /// Records the result of the current step of the scenario.
    private mutating func close(_ outcome: ScenarioResult.Step.Outcome, _ failure: ScenarioFailure?)
    {
        var isStarting = false
        if case .starting = state { isStarting = true }
        guard let block = blocks.first, results.indices.contains(block.index), !isStarting else {
            problem = failure?.text
            return
        }
        results[block.index].outcome = outcome
        results[block.index].time = now - stepBegan
        results[block.index].failure = failure
    }

    /// The step and the repetition, for messages.
    private var repetition: String? {
        guard blocks.count > 1, let block = blocks.last, block.index < block.steps.count else {
            return nil
        }
        let step = block.steps[block.index]
        let values = blocks.dropFirst().compactMap { block in
            block.variable.flatMap { name in self.values[name].map { "\(name) = \($0.shown)" } }
        }
        let which = (["\(block.count) of \(block.total)"] + values).joined(separator: ", ")
        return "\n  in repetition \(which): \(step.words), line \(step.place.line)"
    }
}
