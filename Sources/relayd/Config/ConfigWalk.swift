import DidYouMean
internal import Yams

// The strict walk over a configuration file: every key is looked up in the schema, every value is
// read, and everything that is wrong is reported in this one pass. Called by `ConfigBuilder`.

/// Visits the nodes of one file.
struct ConfigWalk {
    let file: String
    let schema: ConfigSchema
    let source: YAMLSource
    /// What to do with the value of a known option.
    let visit: (ConfigOption, ConfigValue) -> Void
    let report: (ConfigProblem) -> Void

    /// Walks the file from its root.
    func run() {
        guard let root = source.root else { return }
        if case .scalar(let scalar) = root, isNothing(scalar) { return }
        guard case .mapping(let mapping) = root else {
            let value = value(of: root)
            report(.mismatch(value, "", expected: "\"key: value\" lines, such as accessory: sim:"))
            return
        }
        walk(mapping, section: "")
    }

    private func walk(_ mapping: Node.Mapping, section: String) {
        let known = schema.keys(in: section)
        var firstPlaces: [String: ConfigOrigin] = [:]
        for (key, node) in mapping {
            guard case .scalar(let scalar) = key, let mark = scalar.mark else {
                report(
                    .mismatch(value(of: key), section, expected: "a key, which is a single word"))
                continue
            }
            let origin = origin(mark)
            let (name, _) = source.key(scalar.string, at: YAMLSource.Position(mark))
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
                visit(option, value(of: node))
            } else {
                walkSection(node, path: path)
            }
        }
    }

    private func walkSection(_ node: Node, path: String) {
        switch node {
        case .mapping(let mapping):
            walk(mapping, section: path)
        case .scalar(let scalar) where isNothing(scalar):
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

    /// Says which key was probably meant: one of this section, or one of that name elsewhere.
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

    private func value(of node: Node) -> ConfigValue {
        let origin = node.mark.map(origin) ?? .wholeFile(file)
        switch node {
        case .scalar(let scalar):
            return ConfigValue(form(of: scalar), at: origin)
        case .sequence(let sequence):
            return ConfigValue(.list(sequence.map(value(of:))), at: origin)
        case .mapping, .alias:
            return ConfigValue(.mapping, at: origin)
        }
    }

    private func form(of scalar: Node.Scalar) -> ConfigValue.Form {
        let tag = scalar.tag.rawValue
        if tag.hasPrefix("!"), tag != "!" { return .tag(tag) }
        if isNothing(scalar) { return .nothing }
        return .scalar(scalar.string, quoted: scalar.style != .plain)
    }

    private func isNothing(_ scalar: Node.Scalar) -> Bool {
        scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    private func origin(_ mark: Mark) -> ConfigOrigin {
        .file(file, line: mark.line, column: mark.column)
    }
}
