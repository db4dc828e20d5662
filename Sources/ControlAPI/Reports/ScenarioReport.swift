// Scenarios, and the results of running them.

/// The answer to `GET /v1/scenarios`.
package struct ScenarioList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Name of the scenario that relayd runs now; left out when it runs none.
    package var running: String?
    /// The ready scenarios, by name.
    package var scenarios: [ReadyScenarioReport]

    package init(running: String?, scenarios: [ReadyScenarioReport]) {
        (self.running, self.scenarios) = (running, scenarios)
    }
}

/// A scenario that is built into relayd.
package struct ReadyScenarioReport: Codable, Sendable, Equatable {
    /// Its name for `relayctl run`.
    package var name: String
    /// Its title.
    package var scenario: String
    /// A description in a sentence or two.
    package var about: String?
    /// The apps it uses, by their names in it.
    package var apps: [String]
    package var variables: [String: AnyJSON]
    /// In YAML.
    package var text: String

    package init(
        name: String, scenario: String, about: String?, apps: [String],
        variables: [String: AnyJSON], text: String
    ) {
        (self.name, self.scenario, self.about) = (name, scenario, about)
        (self.apps, self.variables, self.text) = (apps, variables, text)
    }
}

/// The answer to `POST /v1/scenarios/check`.
package struct ScenarioCheckReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// A summary in one sentence.
    package var summary: String
    /// The scenario's title; left out when it cannot be run.
    package var scenario: String?
    /// The apps it uses, by their names in it.
    package var apps: [String]
    package var variables: [String: AnyJSON]
    package var steps: [ScenarioStepReport]
    /// In the order of the text; empty when it can be run.
    package var problems: [ScenarioProblemReport]

    package init(
        summary: String, scenario: String? = nil, apps: [String] = [],
        variables: [String: AnyJSON] = [:], steps: [ScenarioStepReport] = [],
        problems: [ScenarioProblemReport] = []
    ) {
        (self.summary, self.scenario, self.apps) = (summary, scenario, apps)
        (self.variables, self.steps, self.problems) = (variables, steps, problems)
    }
}

/// One thing that is wrong with a scenario.
package struct ScenarioProblemReport: Codable, Sendable, Equatable {
    /// From 1; left out where it concerns the whole text.
    package var line: Int?
    /// In characters from 1.
    package var column: Int?
    /// The place in the scenario, such as "steps[3].check".
    package var path: String
    /// What was found, what was expected and what to do.
    package var message: String

    package init(line: Int?, column: Int?, path: String, message: String) {
        (self.line, self.column, self.path, self.message) = (line, column, path, message)
    }
}

/// A line of the answer to `POST /v1/scenarios/run`.
package struct ScenarioEvent: Codable, Sendable, Equatable {
    package struct Kind: OpenValue {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The scenario has started; has all of its steps.
        package static let begun = Kind(rawValue: "begun")
        /// A step is running, or over.
        package static let step = Kind(rawValue: "step")
        /// Nothing has happened for a while.
        package static let waiting = Kind(rawValue: "waiting")
        /// The scenario is over, and what it added has been removed.
        package static let ended = Kind(rawValue: "ended")
    }

    package var event: Kind
    /// At the beginning: the scenario's title.
    package var scenario: String?
    /// At the beginning: all steps, in order.
    package var steps: [ScenarioStepReport]?
    /// The step concerned.
    package var step: ScenarioStepReport?
    /// At the end: "passed", "failed" or "unusable".
    package var outcome: String?
    /// At the end: how long it took.
    package var seconds: Double?
    /// At the end: why the scenario could not be used, where no step says it.
    package var problem: String?

    package init(
        _ event: Kind, scenario: String? = nil, steps: [ScenarioStepReport]? = nil,
        step: ScenarioStepReport? = nil, outcome: String? = nil, seconds: Double? = nil,
        problem: String? = nil
    ) {
        (self.event, self.scenario, self.steps, self.step) = (event, scenario, steps, step)
        (self.outcome, self.seconds, self.problem) = (outcome, seconds, problem)
    }
}

/// One step of a scenario; repetitions count as one. Also part of the output of
/// `relayctl run FILE --json`.
package struct ScenarioStepReport: Codable, Sendable, Equatable {
    /// Number of the step as written, from 1.
    package var number: Int
    /// Line in the text.
    package var line: Int
    /// What the step does, in one line.
    package var words: String
    /// "passed", "failed", "unusable" or "skipped"; while a scenario runs also "open" and "running".
    package var outcome: String
    /// How long it took.
    package var seconds: Double
    package var failure: ScenarioFailureReport?

    package init(
        number: Int, line: Int, words: String, outcome: String, seconds: Double,
        failure: ScenarioFailureReport? = nil
    ) {
        (self.number, self.line, self.words) = (number, line, words)
        (self.outcome, self.seconds, self.failure) = (outcome, seconds, failure)
    }
}

/// Why a step has failed.
package struct ScenarioFailureReport: Codable, Sendable, Equatable {
    /// In one sentence.
    package var summary: String
    /// Lines that describe what was expected.
    package var expected: [String]
    /// Lines that describe what came instead.
    package var came: [String]
    package var differences: [ScenarioDifference]

    package init(
        summary: String, expected: [String], came: [String], differences: [ScenarioDifference]
    ) {
        (self.summary, self.expected) = (summary, expected)
        (self.came, self.differences) = (came, differences)
    }
}

/// A value that differs from what is required.
package struct ScenarioDifference: Codable, Sendable, Equatable {
    package var path: String
    package var expected: String
    /// Left out when there is no such value.
    package var found: String?

    package init(path: String, expected: String, found: String?) {
        (self.path, self.expected, self.found) = (path, expected, found)
    }
}

/// Keys of the query of `POST /v1/scenarios/run`.
package enum ScenarioQueryKey: String, CaseIterable, Sendable {
    case app, set
    case mayHarmOthers = "may_harm_others"
}
