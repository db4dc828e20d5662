import ControlAPI
import YAML

// The checks of a message, and what is captured from it.

extension ScenarioReader {
    mutating func checks(_ section: ScenarioSection) -> [ScenarioCheck] {
        guard let node = section.node("check") else { return [] }
        let path = section.path("check")
        guard case .mapping(let pairs, let place) = node else {
            problems.add(
                node.place, path,
                "found \(node.shown); expected PARAMETER: VALUE lines under it, such as mainField1: Hello"
            )
            return []
        }
        let section = ScenarioSection(pairs, at: place, path, known: [], &problems)
        guard section.all.count <= ScenarioLimits.checks else {
            problems.add(place, path, "expected at most \(ScenarioLimits.checks) checks")
            return []
        }
        var checks: [ScenarioCheck] = []
        for (name, key, node) in section.all {
            guard let parameter = parameter(name, key, section.path(name)) else { continue }
            let tests = tests(node, section.path(name))
            if !tests.isEmpty { checks.append(ScenarioCheck(path: parameter, tests: tests)) }
        }
        return checks
    }

    private mutating func parameter(
        _ text: String, _ place: YAMLPlace, _ path: String
    ) -> ScenarioPath? {
        if let parameter = ScenarioPath(text) { return parameter }
        problems.add(
            place, path,
            "\"\(ScenarioWord.shown(text))\" is no parameter; expected one such as mainField1, "
                + "graphic.value, softButtons[0].text or softButtons[*].text")
        return nil
    }

    private mutating func tests(_ node: YAMLNode, _ path: String) -> [ScenarioCheck.Test] {
        guard case .mapping(let pairs, let place) = node, isTest(pairs) else {
            return value(node, path).map { [.equals($0)] } ?? []
        }
        let section = ScenarioSection(
            pairs, at: place, path, known: ScenarioCheck.operators, &problems)
        var tests: [ScenarioCheck.Test] = []
        for (name, _, node) in section.all {
            let path = section.path(name)
            switch name {
            case "contains", "like":
                guard let found = section.text(name, expected: "text", &problems),
                    let text = text(found.text, found.place, path)
                else { continue }
                tests.append(name == "like" ? .like(text) : .contains(text))
            case "exists":
                guard case .scalar(let scalar) = node, case .bool(let isWanted) = scalar.value
                else {
                    problems.add(
                        node.place, path, "found \(node.shown); expected true or false")
                    continue
                }
                tests.append(.exists(isWanted))
            default:
                guard let value = value(node, path) else { continue }
                switch name {
                case "not": tests.append(.not(value))
                case "at_least": tests.append(.atLeast(value))
                case "at_most": tests.append(.atMost(value))
                default: tests.append(.oneOf(value))
                }
            }
        }
        return tests
    }

    /// Whether a mapping is a test of a value, and not a struct.
    private func isTest(_ pairs: [YAMLNode.Pair]) -> Bool {
        !pairs.isEmpty
            && pairs.allSatisfy { pair in
                guard case .scalar(let key) = pair.key else { return false }
                return ScenarioCheck.operators.contains(key.text)
            }
    }

    mutating func captures(_ section: ScenarioSection) -> [Scenario.Capture] {
        guard let node = section.node("capture") else { return [] }
        let path = section.path("capture")
        guard case .mapping(let pairs, let place) = node else {
            problems.add(
                node.place, path,
                "found \(node.shown); expected VARIABLE: PARAMETER lines under it, such as "
                    + "id: softButtons[0].softButtonID")
            return []
        }
        let section = ScenarioSection(pairs, at: place, path, known: [], &problems)
        var captures: [Scenario.Capture] = []
        for (name, key, _) in section.all {
            let path = section.path(name)
            guard checkWord(name, key, path, "a variable"),
                let found = section.text(name, expected: "a parameter", &problems),
                let parameter = parameter(found.text, found.place, path)
            else { continue }
            guard variables.count < ScenarioLimits.variables || variables.contains(name) else {
                problems.add(
                    key, path, "expected at most \(ScenarioLimits.variables) variables in all")
                continue
            }
            captures.append(Scenario.Capture(variable: name, path: parameter))
            variables.insert(name)
        }
        return captures
    }
}
