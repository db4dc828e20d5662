import Scenarios

/// The results of scenarios, for people.
struct ScenarioRunText {
    let style: Style

    /// Shown before the first step, when the scenario begins to see messages.
    func beginning(_ name: String, _ file: String) -> String {
        "\(style(.bold, SafeText.clean(name)))  \(style(.dim, SafeText.clean(file)))\n"
    }

    /// Shown after the last step.
    func ending(_ result: ScenarioResult) -> String {
        var lines: [String] = []
        if let problem = result.problem {
            lines += problem.split(separator: "\n").map { "  " + SafeText.line(String($0)) }
        }
        if let recording = result.recording {
            lines.append("  recorded in \(SafeText.clean(recording))")
        }
        let words =
            switch result.outcome {
            case .passed: style(.green, "passed")
            case .failed: style(.red, "failed")
            case .unusable: style(.red, "could not be used")
            }
        lines.append("  \(words) after \(Self.time(result.time))")
        return lines.map { $0 + "\n" }.joined()
    }

    func steps(_ steps: some Sequence<ScenarioResult.Step>) -> String {
        steps.flatMap(step).map { $0 + "\n" }.joined()
    }

    private func step(_ step: ScenarioResult.Step) -> [String] {
        let words = "\(step.number) \(SafeText.line(step.words))"
        switch step.outcome {
        case .passed:
            return [
                "  \(style(.green, "✓")) \(words)  \(style(.dim, Self.time(step.time)))"
            ]
        case .skipped: return ["  " + style(.dim, "· \(words)")]
        case .failed, .unusable:
            let lines = (step.failure?.lines ?? []).flatMap {
                $0.split(separator: "\n").map(String.init)
            }
            return ["  \(style(.red, "✗")) \(words)  \(style(.dim, "line \(step.line)"))"]
                + lines.map { line in
                    let clean = "    " + SafeText.line(line)
                    let text = line.drop { $0 == " " }
                    if line.hasPrefix("    - ") { return style(.green, clean) }
                    if line.hasPrefix("    + ") { return style(.red, clean) }
                    return text.isEmpty ? "" : clean
                }
        }
    }

    func total(_ results: [ScenarioResult]) -> String {
        func count(_ outcome: ScenarioResult.Outcome) -> Int {
            results.count { $0.outcome == outcome }
        }
        var parts = ["\(count(.passed)) passed"]
        if count(.failed) > 0 { parts.append("\(count(.failed)) failed") }
        if count(.unusable) > 0 { parts.append("\(count(.unusable)) could not be used") }
        return "\(Units.count(results.count, "scenario")): \(parts.joined(separator: ", "))\n"
    }

    private static func time(_ time: Duration) -> String {
        let tenths = Int((time.asSeconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
