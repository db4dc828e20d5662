import ControlAPI
import Scenarios

/// What --json of `relayctl run` prints.
struct ScenarioReport: Encodable {
    /// Version of the JSON layout: 1.
    var schema = 1
    var scenarios: [Run]

    struct Run: Encodable {
        var file: String
        var name: String
        /// "passed", "failed" or "unusable".
        var outcome: String
        var started: Timestamp?
        var seconds: Double
        var steps: [Step]
        /// Why it could not be used, where no step says it.
        var problem: String?
        /// The trace of it.
        var recording: String?
    }

    struct Step: Encodable {
        var number: Int
        var line: Int
        var words: String
        /// "passed", "failed", "unusable" or "skipped".
        var outcome: String
        var seconds: Double
        var failure: Failure?
    }

    struct Failure: Encodable {
        var summary: String
        var expected: [String]
        var came: [String]
        var differences: [Difference]
    }

    struct Difference: Encodable {
        var path: String
        var expected: String
        /// Absent when there is no such value.
        var found: String?
    }

    init(_ results: [ScenarioResult]) {
        scenarios = results.map { result in
            Run(
                file: result.file, name: result.name, outcome: result.outcome.rawValue,
                started: result.started, seconds: result.time.asSeconds,
                steps: result.steps.map(Step.init), problem: result.problem,
                recording: result.recording)
        }
    }

    var json: String {
        get throws { String(decoding: try APICoding.encode(self), as: UTF8.self) }
    }
}

extension ScenarioReport.Step {
    init(_ step: ScenarioResult.Step) {
        (number, line, words) = (step.number, step.line, step.words)
        (outcome, seconds) = (step.outcome.rawValue, step.time.asSeconds)
        failure = step.failure.map { failure in
            ScenarioReport.Failure(
                summary: failure.summary, expected: failure.expected, came: failure.came,
                differences: failure.mismatches.map {
                    ScenarioReport.Difference(
                        path: $0.path, expected: $0.expected, found: $0.found)
                })
        }
    }
}
