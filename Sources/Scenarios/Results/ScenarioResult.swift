package import ControlAPI

/// The result of a scenario: for people, JSON and JUnit.
package struct ScenarioResult: Sendable, Equatable {
    package enum Outcome: String, Sendable, Equatable {
        case passed
        /// A step has failed.
        case failed
        /// The scenario or the bench could not be used.
        case unusable
    }

    /// One step of the scenario; a repetition counts as one.
    package struct Step: Sendable, Equatable {
        package enum Outcome: String, Sendable, Equatable {
            case passed, failed, unusable, skipped
        }

        package var number: Int
        /// Line in the file; 0 if there is none.
        package var line: Int
        package var words: String
        package var outcome: Outcome
        package var time: Duration
        package var failure: ScenarioFailure?
    }

    package var file: String
    package var name: String
    /// When it began.
    package var started: Timestamp?
    package var time: Duration
    package var outcome: Outcome
    package var steps: [Step]
    /// Why it could not be used, if no step says so.
    package var problem: String?
    /// The recording made of the run.
    package var recording: String?

    package init(
        file: String, name: String, time: Duration, outcome: Outcome, steps: [Step],
        problem: String? = nil
    ) {
        (self.file, self.name, self.time) = (file, name, time)
        (self.outcome, self.steps, self.problem) = (outcome, steps, problem)
    }

    /// The result for a file that is not a scenario.
    package init(file: String, problem: String) {
        self.init(
            file: file, name: file, time: .zero, outcome: .unusable, steps: [], problem: problem)
    }
}

extension ScenarioResult.Outcome {
    /// The exit code of several scenarios: 2 if one could not be used, as its result is unknown; else 1 if
    /// one has failed.
    package static func exitCode(_ outcomes: [ScenarioResult.Outcome]) -> Int32 {
        if outcomes.contains(.unusable) { return 2 }
        return outcomes.contains(.failed) ? 1 : 0
    }
}

extension Duration {
    /// The duration in seconds, with milliseconds.
    package var asSeconds: Double {
        Double(components.seconds)
            + Double(components.attoseconds / 1_000_000_000_000_000) / 1000
    }
}
