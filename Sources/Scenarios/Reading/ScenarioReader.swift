package import ControlAPI
import YAML

/// Reads a scenario: every key is looked up, every value is read, and all problems are reported in one
/// pass. `relayctl run` and `relayctl scenario check FILE` call it.
package struct ScenarioReader {
    var problems = ScenarioProblems()
    /// Variables that have a value at the step being read.
    var variables: Set<String> = []
    var roles: [String] = []
    /// Faults that have a name at the step being read.
    var faults: Set<String> = []
    var stepCount = 0

    private init() {}

    /// - Parameter text: At most `ScenarioLimits.fileBytes`.
    package static func read(_ text: String) throws(ScenarioErrors) -> Scenario {
        guard text.utf8.count <= ScenarioLimits.fileBytes else {
            throw ScenarioErrors(problems: [
                ScenarioProblem(
                    nil, "",
                    "larger than \(ScenarioLimits.fileBytes >> 20) MiB, which no scenario is")
            ])
        }
        let root: YAMLNode?
        do throws(YAMLError) {
            root = try YAMLComposer.root(of: text, as: .scenario)
        } catch {
            throw ScenarioErrors(problems: [ScenarioProblem(error.place, "", error.text)])
        }
        var reader = ScenarioReader()
        let scenario = reader.scenario(root)
        guard let scenario, reader.problems.all.isEmpty else {
            throw ScenarioErrors(problems: reader.problems.all)
        }
        return scenario
    }

    /// The value given to a variable on a command line: a number, true, false, or text.
    package static func value(_ text: String) -> AnyJSON {
        YAMLNode.Scalar(
            text: text, isPlain: true, tag: nil, place: YAMLPlace(line: 1, column: 1)
        ).value
    }

    private static let example = "\"key: value\" lines, such as scenario: NAME and steps:"

    private mutating func scenario(_ root: YAMLNode?) -> Scenario? {
        guard case .mapping(let pairs, let place)? = root else {
            let found = root.map(\.shown) ?? "nothing"
            problems.add(root?.place, "", "found \(found); expected \(Self.example)")
            return nil
        }
        let section = ScenarioSection(
            pairs, at: place, "",
            known: ["scenario", "about", "apps", "variables", "limit", "steps"], &problems)
        let name = section.text(
            "scenario", expected: "a name for the scenario", &problems,
            limit: ScenarioLimits.nameScalars)
        if name == nil, section.node("scenario") == nil {
            problems.add(place, "", "there is no name; expected scenario: NAME")
        }
        let about = section.text("about", expected: "a sentence", &problems)?.text
        let apps = apps(section)
        let values = variables(section)
        let limit = limit(section)
        guard let node = section.node("steps") else {
            problems.add(place, "", "there are no steps; expected steps: with a list under it")
            return nil
        }
        let steps = steps(node, "steps", depth: 0)
        return Scenario(
            name: name?.text ?? "", about: about, apps: apps, variables: values, limit: limit,
            steps: steps)
    }

    private mutating func limit(_ section: ScenarioSection) -> Duration {
        guard let text = section.text("limit", expected: ScenarioWord.timeExample, &problems) else {
            return Scenario.usualLimit
        }
        guard let time = ScenarioWord.time(text.text), time > .zero else {
            problems.add(
                text.place, "limit",
                "found \"\(ScenarioWord.shown(text.text))\"; expected \(ScenarioWord.timeExample)")
            return Scenario.usualLimit
        }
        return time
    }

    // MARK: Variables

    private mutating func variables(_ section: ScenarioSection) -> [String: AnyJSON] {
        guard let node = section.node("variables") else { return [:] }
        guard case .mapping(let pairs, let place) = node else {
            problems.add(
                node.place, "variables", "found \(node.shown); expected NAME: VALUE lines under it")
            return [:]
        }
        let section = ScenarioSection(pairs, at: place, "variables", known: [], &problems)
        guard section.all.count <= ScenarioLimits.variables else {
            problems.add(
                place, "variables", "expected at most \(ScenarioLimits.variables) variables")
            return [:]
        }
        var values: [String: AnyJSON] = [:]
        for (name, key, node) in section.all {
            guard checkWord(name, key, section.path(name), "a variable"),
                let value = value(node, section.path(name))
            else { continue }
            values[name] = value
            variables.insert(name)
        }
        return values
    }

    /// Any value as JSON; its variables have to be known.
    mutating func value(_ node: YAMLNode, _ path: String) -> AnyJSON? {
        switch node {
        case .scalar(let scalar):
            guard scalar.ownTag == nil else {
                problems.add(scalar.place, path, "found \(node.shown); text with ! needs quotes")
                return nil
            }
            guard scalar.text.unicodeScalars.count <= ScenarioLimits.textScalars else {
                problems.add(
                    scalar.place, path,
                    "expected at most \(ScenarioLimits.textScalars) characters")
                return nil
            }
            let value = scalar.value
            if case .string(let text) = value,
                self.text(text, scalar.place, path) == nil
            {
                return nil
            }
            return value
        case .sequence(let items, _):
            var elements: [AnyJSON] = []
            for (index, item) in items.enumerated() {
                guard let element = value(item, "\(path)[\(index)]") else { return nil }
                elements.append(element)
            }
            return .array(elements)
        case .mapping(let pairs, let place):
            let section = ScenarioSection(pairs, at: place, path, known: [], &problems)
            var members: [String: AnyJSON] = [:]
            for (name, _, node) in section.all {
                guard let member = value(node, section.path(name)) else { return nil }
                members[name] = member
            }
            return .object(members)
        }
    }

    /// A text with its variables, which have to be known.
    mutating func text(_ text: String, _ place: YAMLPlace, _ path: String) -> ScenarioText? {
        let read: ScenarioText
        do throws(ScenarioTextError) {
            read = try ScenarioText(text)
        } catch {
            problems.add(place, path, error.message)
            return nil
        }
        for name in read.variables where !variables.contains(name) {
            problems.add(
                place, path,
                unknown(name, "variable", Array(variables))
                    + "; a variable is under variables:, or an earlier step captures it")
        }
        return read
    }

    func unknown(_ name: String, _ what: String, _ known: [String]) -> String {
        "there is no \(what) \"\(ScenarioWord.shown(name))\" here"
            + (Self.near(name, known).map { "; did you mean \"\($0)\"?" } ?? "")
    }

    mutating func checkWord(
        _ word: String, _ place: YAMLPlace, _ path: String, _ what: String
    ) -> Bool {
        guard !ScenarioWord.isWord(word) else { return true }
        problems.add(
            place, path,
            "\"\(ScenarioWord.shown(word))\" cannot be the name of \(what); expected letters, digits, _ "
                + "and -, at most \(ScenarioLimits.wordBytes)")
        return false
    }

    // MARK: Apps

    private mutating func apps(_ section: ScenarioSection) -> [Scenario.App] {
        guard let node = section.node("apps") else { return [] }
        guard case .mapping(let pairs, let place) = node else {
            problems.add(
                node.place, "apps",
                "found \(node.shown); expected NAME: lines under it, such as radio: \"My Radio\"")
            return []
        }
        let section = ScenarioSection(pairs, at: place, "apps", known: [], &problems)
        guard section.all.count <= ScenarioLimits.apps else {
            problems.add(place, "apps", "expected at most \(ScenarioLimits.apps) apps")
            return []
        }
        var apps: [Scenario.App] = []
        for (role, key, node) in section.all {
            guard checkWord(role, key, section.path(role), "an app"),
                let kind = kind(node, role, section.path(role))
            else { continue }
            apps.append(Scenario.App(role: role, kind: kind, place: key))
            roles.append(role)
        }
        return apps
    }

    private mutating func kind(
        _ node: YAMLNode, _ role: String, _ path: String
    ) -> Scenario.App.Kind? {
        let expected =
            "the name of an app that connects, \"*\" for any, sample: NAME for the sample app, or as: NAME "
            + "for an app of relayd's own"
        switch node {
        case .scalar(let scalar) where scalar.ownTag == nil && !scalar.isNothing:
            guard checkName(scalar.text, scalar.place, path) else { return nil }
            return .connects(scalar.text)
        case .mapping(let pairs, let place):
            let section = ScenarioSection(
                pairs, at: place, path, known: ["sample", "as", "app_id", "hmi_types"], &problems)
            let sample = section.text("sample", expected: "the name of the app", &problems)
            let own = section.text("as", expected: "the name of the app", &problems)
            let appID = section.text("app_id", expected: "an app ID", &problems)
            if let appID, !checkName(appID.text, appID.place, section.path("app_id")) { return nil }
            switch (sample, own) {
            case (let sample?, nil):
                guard checkName(sample.text, sample.place, section.path("sample")) else {
                    return nil
                }
                if section.node("hmi_types") != nil {
                    problems.add(
                        section.keyPlace("hmi_types"), section.path("hmi_types"),
                        "goes with as: NAME")
                }
                return .sample(name: sample.text, appID: appID?.text ?? "relayd-\(role)")
            case (nil, let own?):
                guard checkName(own.text, own.place, section.path("as")) else { return nil }
                return .own(
                    name: own.text, appID: appID?.text, hmiTypes: words(section, "hmi_types"))
            default:
                problems.add(place, path, "expected \(expected)")
                return nil
            }
        default:
            problems.add(node.place, path, "found \(node.shown); expected \(expected)")
            return nil
        }
    }

    private mutating func checkName(_ name: String, _ place: YAMLPlace, _ path: String) -> Bool {
        let count = name.unicodeScalars.count
        guard !(1...ScenarioLimits.nameScalars).contains(count) else { return true }
        problems.add(
            place, path,
            "has \(count) characters; expected 1 to \(ScenarioLimits.nameScalars)")
        return false
    }

    private mutating func words(_ section: ScenarioSection, _ name: String) -> [String] {
        guard let node = section.node(name) else { return [] }
        let items: [YAMLNode] = if case .sequence(let items, _) = node { items } else { [node] }
        var words: [String] = []
        for item in items {
            guard case .scalar(let scalar) = item, scalar.ownTag == nil, !scalar.text.isEmpty else {
                problems.add(
                    item.place, section.path(name),
                    "found \(item.shown); expected a word such as NAVIGATION, or a list of words")
                continue
            }
            words.append(scalar.text)
        }
        return words
    }
}

extension YAMLSubject {
    static let scenario = YAMLSubject(
        noun: "scenario", colonExample: "wait: \"text:\"",
        maximumDepth: ScenarioLimits.yamlDepth, maximumNodes: ScenarioLimits.yamlNodes)
}
