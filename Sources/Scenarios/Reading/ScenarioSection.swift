import ControlAPI
import DidYouMean
import YAML

/// A mapping of the file. Keys that are unknown or given twice are reported.
struct ScenarioSection {
    let path: String
    let place: YAMLPlace
    private let known: [String]
    private var members: [(name: String, key: YAMLPlace, value: YAMLNode)] = []

    /// - Parameter known: The allowed keys; empty for any.
    init(
        _ pairs: [YAMLNode.Pair], at place: YAMLPlace, _ path: String, known: [String],
        _ problems: inout ScenarioProblems
    ) {
        self.path = path
        self.place = place
        self.known = known
        var seen: [String: YAMLPlace] = [:]
        for pair in pairs {
            guard case .scalar(let key) = pair.key, key.ownTag == nil else {
                problems.add(
                    pair.key.place, path,
                    "found \(pair.key.shown); expected a key, which is a single word")
                continue
            }
            let name = key.text
            if let first = seen[name] {
                problems.add(
                    key.place, ScenarioSection.path(path, name),
                    "given twice, first in line \(first.line); remove one")
                continue
            }
            seen[name] = key.place
            guard known.isEmpty || known.contains(name) else {
                let hint =
                    Spelling.nearest(name, in: known).map { "did you mean \"\($0)\"?" }
                    ?? "known here: \(known.joined(separator: ", "))"
                problems.add(
                    key.place, ScenarioSection.path(path, name), "unknown key; \(hint)")
                continue
            }
            members.append((name, key.place, pair.value))
        }
    }

    static func path(_ path: String, _ name: String) -> String {
        let name = ScenarioWord.shown(name)
        return path.isEmpty ? name : "\(path).\(name)"
    }

    func path(_ name: String) -> String { Self.path(path, name) }

    var names: [String] { members.map(\.name) }

    func node(_ name: String) -> YAMLNode? { members.first { $0.name == name }?.value }

    func keyPlace(_ name: String) -> YAMLPlace {
        members.first { $0.name == name }?.key ?? place
    }

    /// All members, in their order.
    var all: [(name: String, key: YAMLPlace, value: YAMLNode)] { members }

    // MARK: Values

    /// Text, or a number or word as it was written; nil if it is missing, or is something else, which
    /// is reported.
    func text(
        _ name: String, expected: String, _ problems: inout ScenarioProblems,
        limit: Int = ScenarioLimits.textScalars
    ) -> (text: String, place: YAMLPlace)? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let scalar) = node, scalar.ownTag == nil, !scalar.isNothing,
            !scalar.text.isEmpty
        else {
            problems.add(node.place, path(name), "found \(node.shown); expected \(expected)")
            return nil
        }
        guard scalar.text.unicodeScalars.count <= limit else {
            problems.add(
                scalar.place, path(name),
                "has \(scalar.text.unicodeScalars.count) characters; expected at most \(limit)")
            return nil
        }
        return (scalar.text, scalar.place)
    }
}

/// Problems in the order they are found, up to as many as anybody reads.
struct ScenarioProblems {
    private(set) var all: [ScenarioProblem] = []

    mutating func add(_ place: YAMLPlace?, _ path: String, _ text: String) {
        guard all.count < ScenarioLimits.problems else { return }
        all.append(ScenarioProblem(place, path, text))
    }
}
