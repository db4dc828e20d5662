import ControlAPI
import Scenarios

/// The output of `relayctl run` with --json.
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
        var steps: [ScenarioStepReport]
        /// Why the scenario could not be used, where no step says it.
        var problem: String?
        /// The path of its trace.
        var recording: String?
    }

    init(_ results: [ScenarioResult]) {
        scenarios = results.map { result in
            Run(
                file: result.file, name: result.name, outcome: result.outcome.rawValue,
                started: result.started, seconds: result.time.asSeconds,
                steps: result.steps.map { ScenarioStepReport($0) }, problem: result.problem,
                recording: result.recording)
        }
    }

    var json: String {
        get throws { String(decoding: try APICoding.encode(self), as: UTF8.self) }
    }
}
