import ControlAPI
import DidYouMean
import MessageFilters
import RelayCore
import SDLProtocol
import YAML

// The steps of a scenario. Variables and names of faults are known from the step on that makes them.

extension ScenarioReader {
    static let verbs = [
        "wait", "expect", "never", "answer", "inject", "send", "fault", "link", "remove",
        "disconnect", "pause", "repeat",
    ]

    /// The keys that go with a verb.
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
        // The first key that is a verb says which other keys there are.
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

    /// The role that the step is about; of several the one that is named.
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

    // MARK: What is done

    private mutating func content(
        _ verb: String, _ section: ScenarioSection, depth: Int
    ) -> Scenario.Content? {
        switch verb {
        case "wait": return wanted(verb, section).map { .wait($0) }
        case "expect": return wanted(verb, section).map { .expect($0) }
        case "never":
            guard let filter = filter(verb, section) else { return nil }
            guard let time = time("for", section, isNeeded: true) else { return nil }
            return .never(filter: filter, time: time)
        case "answer": return answer(section)
        case "inject": return said(verb, section).map { .inject($0) }
        case "send":
            guard let said = said(verb, section) else { return nil }
            let result = optionalText("result", section, expected: "a result code")
            var answer = Scenario.Wanted(
                filter: ScenarioText(fixed: ""), time: time("within", section), checks: [],
                captures: [])
            answer.checks = checks(section)
            answer.captures = captures(section)
            return .send(said, result: result, answer: answer)
        case "fault": return fault(section)
        case "link": return link(section)
        case "remove":
            guard
                let name = section.text(
                    verb, expected: "the name of a fault, as its as: has it", &problems)
            else { return nil }
            guard faults.contains(name.text) else {
                problems.add(
                    name.place, section.path(verb),
                    unknown(name.text, "fault", Array(faults))
                        + "; an earlier step gives it a name with as:")
                return nil
            }
            return .remove(name.text)
        case "disconnect":
            guard let node = section.node(verb) else { return nil }
            guard case .scalar(let scalar) = node, scalar.isNothing || roles.contains(scalar.text)
            else {
                problems.add(
                    node.place, section.path(verb),
                    "found \(node.shown); expected nothing, and app: for one of several apps")
                return nil
            }
            return .disconnect
        case "pause": return time(verb, section, isNeeded: true).map { .pause($0) }
        default: return repetition(section, depth: depth)
        }
    }

    private mutating func answer(_ section: ScenarioSection) -> Scenario.Content? {
        guard let request = wanted("answer", section) else { return nil }
        guard let result = optionalText("result", section, expected: "a result code") else {
            if section.node("result") == nil {
                problems.add(
                    section.place, section.path,
                    "with what? expected result: and a result code such as REJECTED")
            }
            return nil
        }
        let info = optionalText("info", section, expected: "words")
        let answer = Scenario.Answer(
            request: request, result: result, info: info, parameters: parameters(section))
        if request.filter.isFixed, result.isFixed, info?.isFixed ?? true {
            let filter = request.filter.description
            let action = answer.action(result: result.description, info: info?.description)
            checkFault(filter, action, section.keyPlace("answer"), section.path("answer"))
        }
        return .answer(answer)
    }

    private mutating func fault(_ section: ScenarioSection) -> Scenario.Content? {
        guard let filter = filter("fault", section) else { return nil }
        guard
            let action = optionalText(
                "do", section, expected: "what a fault rule does, such as delay 2s")
        else {
            if section.node("do") == nil {
                problems.add(
                    section.place, section.path,
                    "what is to happen? expected do: and what a fault rule does, such as delay 2s")
            }
            return nil
        }
        if filter.isFixed, action.isFixed {
            checkFault(
                filter.description, action.description, section.keyPlace("do"), section.path("do"))
        }
        return .fault(filter: filter, action: action, name: faultName(section))
    }

    private mutating func link(_ section: ScenarioSection) -> Scenario.Content? {
        guard
            let action = optionalText(
                "link", section, expected: "unplug, freeze 5s, slow 20KB/s or half-open")
        else { return nil }
        if action.isFixed {
            do throws(FaultRuleError) {
                _ = try FaultRule.link(action.description)
            } catch {
                problems.add(
                    section.node("link")?.place, section.path("link"),
                    ScenarioWord.line(error.message))
            }
        }
        return .fault(filter: nil, action: action, name: faultName(section))
    }

    private mutating func faultName(_ section: ScenarioSection) -> String? {
        guard let name = section.text("as", expected: "a name for the fault", &problems),
            checkWord(name.text, name.place, section.path("as"), "a fault")
        else { return nil }
        faults.insert(name.text)
        return name.text
    }

    /// Refuses what relayd would refuse, whatever the head unit.
    private mutating func checkFault(
        _ filter: String, _ action: String, _ place: YAMLPlace, _ path: String
    ) {
        do throws(FaultRuleError) {
            _ = try FaultRule(filter: filter, action: action, isHeadUnitReal: false)
        } catch {
            problems.add(place, path, ScenarioWord.line(error.message))
        }
    }

    private mutating func said(_ verb: String, _ section: ScenarioSection) -> Scenario.Said? {
        guard
            let words = optionalText(
                verb, section,
                expected: verb == "inject"
                    ? "an RPC such as OnButtonPress, or a short form such as press OK"
                    : "an RPC such as Show")
        else { return nil }
        return Scenario.Said(words: words, parameters: parameters(section))
    }

    private mutating func parameters(_ section: ScenarioSection) -> AnyJSON? {
        guard let node = section.node("parameters") else { return nil }
        guard case .mapping = node else {
            problems.add(
                node.place, section.path("parameters"),
                "found \(node.shown); expected NAME: VALUE lines under it")
            return nil
        }
        return value(node, section.path("parameters"))
    }

    private mutating func repetition(
        _ section: ScenarioSection, depth: Int
    ) -> Scenario.Content? {
        guard depth < ScenarioLimits.repeatDepth else {
            problems.add(
                section.place, section.path,
                "repetitions inside of repetitions: expected at most \(ScenarioLimits.repeatDepth)")
            return nil
        }
        let expected = "how often, such as 3, or a list such as ${buttons}"
        guard let over = optionalText("repeat", section, expected: expected) else { return nil }
        if over.isFixed,
            Int(over.description).map({ (1...ScenarioLimits.times).contains($0) }) != true
        {
            problems.add(
                section.node("repeat")?.place, section.path("repeat"),
                "found \"\(ScenarioWord.shown(over.description))\"; expected 1 to "
                    + "\(ScenarioLimits.times), or a list such as ${buttons}")
            return nil
        }
        var variable: String?
        if let name = section.text("as", expected: "the name of a variable", &problems),
            checkWord(name.text, name.place, section.path("as"), "a variable")
        {
            variable = name.text
            variables.insert(name.text)
        }
        guard let node = section.node("steps") else {
            problems.add(section.place, section.path, "expected steps: with a list under it")
            return nil
        }
        let steps = steps(node, section.path("steps"), depth: depth + 1)
        return .repetition(over: over, variable: variable, steps: steps)
    }

    // MARK: What is waited for

    private mutating func wanted(
        _ verb: String, _ section: ScenarioSection
    ) -> Scenario.Wanted? {
        guard let filter = filter(verb, section) else { return nil }
        let time = time("within", section)
        let checks = checks(section)
        return Scenario.Wanted(
            filter: filter, time: time, checks: checks, captures: captures(section))
    }

    private mutating func filter(_ verb: String, _ section: ScenarioSection) -> ScenarioText? {
        guard
            let found = section.text(
                verb, expected: "a filter such as rpc:Show", &problems),
            let filter = text(found.text, found.place, section.path(verb))
        else { return nil }
        if filter.isFixed {
            do throws(FilterError) {
                _ = try FilterExpression(found.text, names: .ofScenarios)
            } catch {
                problems.add(
                    found.place, section.path(verb),
                    "\(ScenarioWord.line(error.message)), at character \(error.range.lowerBound + 1) of "
                        + "\"\(ScenarioWord.shown(found.text))\"")
            }
        }
        return filter
    }

    private mutating func optionalText(
        _ name: String, _ section: ScenarioSection, expected: String
    ) -> ScenarioText? {
        guard let found = section.text(name, expected: expected, &problems) else { return nil }
        return text(found.text, found.place, section.path(name))
    }

    private mutating func time(
        _ name: String, _ section: ScenarioSection, isNeeded: Bool = false
    ) -> ScenarioText? {
        guard let found = section.text(name, expected: ScenarioWord.timeExample, &problems) else {
            if isNeeded, section.node(name) == nil {
                problems.add(
                    section.place, section.path,
                    "for how long? expected \(name): and \(ScenarioWord.timeExample)")
            }
            return nil
        }
        guard let time = text(found.text, found.place, section.path(name)) else { return nil }
        if time.isFixed, ScenarioWord.time(found.text) == nil {
            problems.add(
                found.place, section.path(name),
                "found \"\(ScenarioWord.shown(found.text))\"; expected \(ScenarioWord.timeExample)")
        }
        return time
    }

    // MARK: Checks and captures

    private mutating func checks(_ section: ScenarioSection) -> [ScenarioCheck] {
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

    /// Whether a mapping says what a value has to be like, and is not a struct.
    private func isTest(_ pairs: [YAMLNode.Pair]) -> Bool {
        !pairs.isEmpty
            && pairs.allSatisfy { pair in
                guard case .scalar(let key) = pair.key else { return false }
                return ScenarioCheck.operators.contains(key.text)
            }
    }

    private mutating func captures(_ section: ScenarioSection) -> [Scenario.Capture] {
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

extension FilterNames {
    static let ofScenarios: FilterNames = {
        var names = FilterNames(functions: FunctionID.all.map(\.name))
        names.withoutSaved = "a scenario has no saved filters; write the filter itself"
        return names
    }()
}

extension ScenarioWord {
    /// A message of somebody else's on one line.
    static func line(_ text: String) -> String {
        PrintableText.string(
            text.split(whereSeparator: \.isNewline).joined(separator: " "), limit: 500)
    }
}

extension Scenario.Answer {
    /// The fault rule that answers, or takes the head unit's answer away.
    func action(result: String, info: String?) -> String {
        guard parameters == nil else { return "drop count 1" }
        let words = info.map {
            let escaped = $0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return " \"\(escaped)\""
        }
        return "answer \(result)\(words ?? "") count 1"
    }
}
