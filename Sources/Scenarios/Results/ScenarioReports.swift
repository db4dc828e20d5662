package import ControlAPI
import YAML

// Results and problems in the form of the control API.

extension ScenarioStepReport {
    /// - Parameter outcome: The outcome to show while the scenario runs, instead of the one so far.
    package init(_ step: ScenarioResult.Step, outcome: String? = nil) {
        self.init(
            number: step.number, line: step.line, words: step.words,
            outcome: outcome ?? step.outcome.rawValue, seconds: step.time.asSeconds,
            failure: step.failure.map(ScenarioFailureReport.init))
    }
}

extension ScenarioFailureReport {
    package init(_ failure: ScenarioFailure) {
        self.init(
            summary: failure.summary, expected: failure.expected, came: failure.came,
            differences: failure.mismatches.map {
                ScenarioDifference(path: $0.path, expected: $0.expected, found: $0.found)
            })
    }
}

extension ScenarioProblemReport {
    package init(_ problem: ScenarioProblem) {
        self.init(
            line: problem.place?.line, column: problem.place?.column, path: problem.path,
            message: problem.text)
    }
}
