package import YAML

/// One problem with a scenario: where, and what to do.
package struct ScenarioProblem: Sendable, Equatable {
    /// Nil for the file as a whole.
    package var place: YAMLPlace?
    /// Where in the scenario, such as `steps[3].check`; empty for all of it.
    package var path: String
    /// What was found, what was expected and what to do.
    package var text: String

    package init(_ place: YAMLPlace?, _ path: String, _ text: String) {
        (self.place, self.path, self.text) = (place, path, text)
    }

    /// The problem as a line in the format of compilers.
    package func line(file: String) -> String {
        let place = place.map { ":\($0.line):\($0.column)" } ?? ""
        return "\(file)\(place): \(path.isEmpty ? "" : "\(path): ")\(text)"
    }
}

/// All problems of a scenario, in the order it was written.
package struct ScenarioErrors: Error, Sendable, Equatable {
    package var problems: [ScenarioProblem]
}
