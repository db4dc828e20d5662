import DidYouMean
import YAML

// The strict walk over a configuration file: every key is looked up in the schema, every value is
// read, and all problems are reported in one pass. Called by `ConfigBuilder`.

/// Visits the nodes of one file.
struct ConfigWalk {
    let file: String
    let schema: ConfigSchema
    /// Nil for a file without content.
    let root: YAMLNode?
    /// Called with the value of each known option.
    let visit: (ConfigOption, ConfigValue) -> Void
    let report: (ConfigProblem) -> Void

    /// Walks the file from its root.
    func run() {
        guard let root else { return }
        if case .scalar(let scalar) = root, scalar.isNothing { return }
        guard case .mapping(let pairs, _) = root else {
            let value = value(of: root)
            report(.mismatch(value, "", expected: "\"key: value\" lines, such as accessory: sim:"))
            return
        }
        walk(pairs, section: "")
    }

    private func walk(_ pairs: [YAMLNode.Pair], section: String) {
        let known = schema.keys(in: section)
        var firstPlaces: [String: ConfigOrigin] = [:]
        for pair in pairs {
            guard case .scalar(let key) = pair.key else {
                report(
                    .mismatch(
                        value(of: pair.key), section, expected: "a key, which is a single word"))
                continue
            }
            let origin = origin(key.place)
            let name = key.text
            let path = Self.path(section, name)
            if let first = firstPlaces[name] {
                report(
                    ConfigProblem(
                        origin: origin, path: path,
                        text: "given twice, first at \(first); remove one"))
            } else {
                firstPlaces[name] = origin
            }
            guard known.contains(name) else {
                report(unknown(name, in: section, known: known, at: origin))
                continue
            }
            if let option = schema[path] {
                visit(option, value(of: pair.value))
            } else {
                walkSection(pair.value, path: path)
            }
        }
    }

    private func walkSection(_ node: YAMLNode, path: String) {
        switch node {
        case .mapping(let pairs, _):
            walk(pairs, section: path)
        case .scalar(let scalar) where scalar.isNothing:
            // A section whose every line is commented out.
            break
        default:
            let key = path.split(separator: ".").last ?? ""
            report(
                .mismatch(
                    value(of: node), path,
                    expected: "indented \"key: value\" lines below \"\(key):\""))
        }
    }

    /// Says which key was probably meant: a similar one in this section, or the same one elsewhere.
    private func unknown(
        _ name: String, in section: String, known: [String], at origin: ConfigOrigin
    ) -> ConfigProblem {
        let path = Self.path(section, name)
        let elsewhere = schema.options.map(\.path).filter { $0.hasSuffix(".\(name)") }
        let text =
            if let near = Spelling.nearest(name, in: known) {
                "unknown key; did you mean \"\(near)\"?"
            } else if schema.keys(in: "").contains(name) {
                "unknown key; \"\(name)\" belongs at the top of the file, without indentation"
            } else if !elsewhere.isEmpty {
                "unknown key; did you mean \(elsewhere.joined(separator: " or "))?"
            } else {
                "unknown key; known here: \(known.joined(separator: ", "))"
            }
        return ConfigProblem(origin: origin, path: path, text: text)
    }

    private static func path(_ section: String, _ name: String) -> String {
        let key = ConfigValue.visible(name)
        return section.isEmpty ? key : "\(section).\(key)"
    }

    private func value(of node: YAMLNode) -> ConfigValue {
        let origin = origin(node.place)
        switch node {
        case .scalar(let scalar): return ConfigValue(form(of: scalar), at: origin)
        case .sequence(let items, _): return ConfigValue(.list(items.map(value(of:))), at: origin)
        case .mapping: return ConfigValue(.mapping, at: origin)
        }
    }

    private func form(of scalar: YAMLNode.Scalar) -> ConfigValue.Form {
        if let tag = scalar.tag, tag.hasPrefix("!"), tag != "!" { return .tag(tag) }
        if scalar.isNothing { return .nothing }
        return .scalar(scalar.text, quoted: !scalar.isPlain)
    }

    private func origin(_ place: YAMLPlace) -> ConfigOrigin {
        .file(file, line: place.line, column: place.column)
    }
}

extension YAMLSubject {
    /// The deepest option, an entry of `log.functions`, is on level 3; a list of a thousand apps has a
    /// thousand keys and values.
    static let configuration = YAMLSubject(
        noun: "configuration", colonExample: "accessory: \"sim:\"", maximumDepth: 16,
        maximumNodes: 10_000)
}
