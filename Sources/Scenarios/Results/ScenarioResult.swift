package import ControlAPI

/// What came of a scenario: for people, JSON and JUnit.
package struct ScenarioResult: Sendable, Equatable {
    package enum Outcome: String, Sendable, Equatable {
        case passed
        /// A step has not done what it should.
        case failed
        /// The scenario or the bench could not be used.
        case unusable
    }

    /// One step of the scenario; what is repeated counts as one.
    package struct Step: Sendable, Equatable {
        package enum Outcome: String, Sendable, Equatable {
            case passed, failed, unusable, skipped
        }

        package var number: Int
        /// In the file; 0 of none.
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
    /// Why it could not be used, where no step says it.
    package var problem: String?
    /// The recording that was made of it.
    package var recording: String?

    package init(
        file: String, name: String, time: Duration, outcome: Outcome, steps: [Step],
        problem: String? = nil
    ) {
        (self.file, self.name, self.time) = (file, name, time)
        (self.outcome, self.steps, self.problem) = (outcome, steps, problem)
    }

    /// Of a file that is no scenario.
    package init(file: String, problem: String) {
        self.init(
            file: file, name: file, time: .zero, outcome: .unusable, steps: [], problem: problem)
    }
}

extension ScenarioResult.Outcome {
    /// The exit code of several scenarios: 2 when one could not be used, as nobody knows what it would have
    /// shown; else 1 when one has failed.
    package static func exitCode(_ outcomes: [ScenarioResult.Outcome]) -> Int32 {
        if outcomes.contains(.unusable) { return 2 }
        return outcomes.contains(.failed) ? 1 : 0
    }
}

extension Duration {
    /// Seconds with milliseconds.
    package var asSeconds: Double {
        Double(components.seconds)
            + Double(components.attoseconds / 1_000_000_000_000_000) / 1000
    }
}
