import DidYouMean
import YAML

// The steps of a scenario. Variables and names of faults are known from the step that defines them.

extension ScenarioReader {
    static let verbs = [
        "wait", "expect", "never", "answer", "inject", "send", "fault", "link", "remove",
        "disconnect", "pause", "repeat",
    ]

    /// The keys allowed with a verb.
    private static let options: [String: [String]] = [
        "wait": ["within", "check", "capture"],
        "expect": ["within", "check", "capture"],
        "never": ["for"],
        "answer": ["result", "info", "parameters", "within", "check", "capture"],
        "inject": ["parameters"],
        "send": ["parameters", "result", "within", "check", "capture"],
        "fault": ["do", "as"],
        "link": ["as"],
        "remove": [],
        "disconnect": [],
        "pause": [],
        "repeat": ["as", "steps"],
    ]

    static func near(_ name: String, _ known: [String]) -> String? {
        Spelling.nearest(name, in: known.sorted())
    }

    mutating func steps(_ node: YAMLNode, _ path: String, depth: Int) -> [Scenario.Step] {
        guard case .sequence(let items, let place) = node else {
            problems.add(
                node.place, path,
                "found \(node.shown); expected a list of steps, such as - wait: rpc:Show")
            return []
        }
        guard !items.isEmpty else {
            problems.add(
                place, path, "there is no step in it; expected one such as - wait: rpc:Show")
            return []
        }
        var steps: [Scenario.Step] = []
        for (index, item) in items.enumerated() {
            stepCount += 1
            guard stepCount <= ScenarioLimits.steps else {
                if stepCount == ScenarioLimits.steps + 1 {
                    problems.add(
                        item.place, path, "expected at most \(ScenarioLimits.steps) steps in all")
                }
                return steps
            }
            if let step = step(item, "\(path)[\(index)]", depth: depth) { steps.append(step) }
        }
        return steps
    }

    private mutating func step(_ node: YAMLNode, _ path: String, depth: Int) -> Scenario.Step? {
        let number = stepCount
        guard case .mapping(let pairs, let place) = node else {
            problems.add(
                node.place, path,
                "found \(node.shown); expected a step, such as wait: rpc:Show")
            return nil
        }
        // The first key that is a verb determines which other keys are allowed.
        let names = pairs.compactMap { pair -> String? in
            if case .scalar(let key) = pair.key { key.text } else { nil }
        }
        let verbs = names.filter { Self.verbs.contains($0) }
        guard let verb = verbs.first else {
            let near = names.lazy.compactMap { Self.near($0, Self.verbs) }.first
            let hint = near.map { "; did you mean \"\($0)\"?" } ?? ""
            problems.add(
                place, path,
                "what is to be done? expected one of \(Self.verbs.joined(separator: ", "))\(hint)")
            return nil
        }
        guard verbs.count == 1 else {
            problems.add(
                place, path,
                "\(verbs.joined(separator: " and ")) in one step; begin a step of its own with - for each"
            )
            return nil
        }
        let section = ScenarioSection(
            pairs, at: place, path, known: [verb, "name", "app"] + (Self.options[verb] ?? []),
            &problems)
        let title = section.text(
            "name", expected: "what the step is called in reports", &problems,
            limit: ScenarioLimits.nameScalars)?.text
        let app = app(section, verb)
        guard let content = content(verb, section, depth: depth) else { return nil }
        return Scenario.Step(
            number: number, place: place, title: title, app: app, content: content)
    }

    /// The role the step is about; if there are several, the one that is named.
    private mutating func app(_ section: ScenarioSection, _ verb: String) -> String? {
        if let named = section.text("app", expected: "an app of apps:", &problems) {
            guard roles.contains(named.text) else {
                problems.add(
                    named.place, section.path("app"),
                    unknown(named.text, "app", roles)
                        + "; apps are under apps: at the top of the file")
                return nil
            }
            return named.text
        }
        if roles.count == 1, !["link", "remove", "pause", "repeat"].contains(verb) {
            return roles.first
        }
        if ["inject", "send", "disconnect"].contains(verb) {
            problems.add(
                section.place, section.path,
                roles.isEmpty
                    ? "which app? expected apps: at the top of the file, such as apps: {radio: \"*\"}"
                    : "which app? expected app: and one of \(roles.joined(separator: ", "))")
        }
        return nil
    }
}
