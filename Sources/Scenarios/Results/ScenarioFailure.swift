/// Why a step has failed: what was expected, and what came instead.
package struct ScenarioFailure: Sendable, Equatable {
    /// In one sentence.
    package var summary: String
    /// Lines that say what was expected.
    package var expected: [String]
    /// Lines that say what came instead.
    package var came: [String]
    package var mismatches: [ScenarioMismatch]

    package init(
        _ summary: String, expected: [String] = [], came: [String] = [],
        mismatches: [ScenarioMismatch] = []
    ) {
        self.summary = summary
        self.expected = expected
        self.came = came
        self.mismatches = mismatches
    }

    /// The summary, and under it the difference: "-" is what was expected, "+" is what came.
    package var lines: [String] {
        var lines = [summary]
        lines += expected.map { "  expected: \($0)" }
        lines += came.map { "  came:     \($0)" }
        for mismatch in mismatches {
            lines.append("    - \(mismatch.path): \(mismatch.expected)")
            lines.append("    + \(mismatch.path): \(mismatch.found ?? "is not there")")
        }
        return lines
    }

    package var text: String { lines.joined(separator: "\n") }
}
