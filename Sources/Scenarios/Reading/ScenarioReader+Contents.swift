import ControlAPI
import MessageFilters
import RelayCore
import YAML

// What each kind of step does, and whether relayd would take it.

extension ScenarioReader {
    mutating func content(
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

    /// Refuses rules that relayd would refuse with any head unit.
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
}

extension Scenario.Answer {
    /// The action of the fault rule that answers the request, or drops it so that the run can
    /// answer.
    func action(result: String, info: String?) -> String {
        guard parameters == nil else { return "drop count 1" }
        let words = info.map { " " + $0.inQuotes } ?? ""
        return "answer \(result)\(words) count 1"
    }
}
