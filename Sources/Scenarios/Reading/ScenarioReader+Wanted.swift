import MessageFilters
import SDLProtocol
import YAML

// The texts of steps: what is waited for, and for how long.

extension ScenarioReader {
    mutating func wanted(
        _ verb: String, _ section: ScenarioSection
    ) -> Scenario.Wanted? {
        guard let filter = filter(verb, section) else { return nil }
        let time = time("within", section)
        let checks = checks(section)
        return Scenario.Wanted(
            filter: filter, time: time, checks: checks, captures: captures(section))
    }

    mutating func filter(_ verb: String, _ section: ScenarioSection) -> ScenarioText? {
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

    mutating func optionalText(
        _ name: String, _ section: ScenarioSection, expected: String
    ) -> ScenarioText? {
        guard let found = section.text(name, expected: expected, &problems) else { return nil }
        return text(found.text, found.place, section.path(name))
    }

    mutating func time(
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
}

extension FilterNames {
    static let ofScenarios: FilterNames = {
        var names = FilterNames(functions: FunctionID.all.map(\.name))
        names.withoutSaved = "a scenario has no saved filters; write the filter itself"
        return names
    }()
}
