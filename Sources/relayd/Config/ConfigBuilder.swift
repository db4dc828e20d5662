import YAML

/// Puts a configuration together: defaults, then the file, then environment and flags, collecting
/// all problems on the way. `Config.load` and `Arguments.effectiveConfig` use it.
package struct ConfigBuilder {
    private let schema: ConfigSchema
    private var config = Config()
    private var problems: [ConfigProblem] = []
    /// Where each option was set last.
    package private(set) var origins: [String: ConfigOrigin] = [:]

    package init(validateAccessory: @escaping (String) -> String? = { _ in nil }) {
        schema = ConfigSchema(validateAccessory: validateAccessory)
    }

    /// The options that were set, by file, environment or flags.
    package var pathsSet: Set<String> { Set(origins.keys) }

    /// Adds the text of a configuration file; `file` is its name in messages.
    package mutating func add(yaml: String, file: String) {
        let root: YAMLNode?
        do throws(YAMLError) {
            root = try YAMLComposer.root(of: yaml, as: .configuration)
        } catch {
            let place = error.place
            problems.append(
                ConfigProblem(
                    origin: .file(file, line: place.line, column: place.column), path: "",
                    text: error.text))
            return
        }
        var (config, origins, problems) = (config, origins, problems)
        ConfigWalk(
            file: file, schema: schema, root: root,
            visit: { option, value in
                option.apply(value, &config, &problems)
                origins[option.path] = value.origin
            }, report: { problems.append($0) }
        ).run()
        (self.config, self.origins, self.problems) = (config, origins, problems)
    }

    /// Sets one option from outside the file.
    package mutating func set(_ path: String, to value: ConfigValue) {
        guard let option = schema[path] else {
            preconditionFailure("no option is called \(path)")
        }
        option.apply(value, &config, &problems)
        origins[path] = value.origin
    }

    /// Sets one option from outside the file, and the other options that the same words may refer to,
    /// unless the words are wrong.
    mutating func set(_ path: String, and others: [String], to value: ConfigValue) {
        let before = problems.count
        set(path, to: value)
        guard problems.count == before else { return }
        for other in others { set(other, to: value) }
    }

    /// Reports a problem found elsewhere, such as a file that cannot be read.
    package mutating func report(_ problem: ConfigProblem) {
        problems.append(problem)
    }

    /// The configuration, or all problems with it.
    package func finish() throws(ConfigErrors) -> Config {
        var problems = problems
        if problems.isEmpty {
            for (path, text) in ConfigSchema.contradictions(in: config, origins) {
                // One of the two options was set, or there would be no contradiction.
                let others =
                    switch path {
                    case "dashboard.address": ["listen"]
                    case "openxc.endpoints": ["openxc.listen", "openxc.pty"]
                    default: ["limits.maximum_payload"]
                    }
                let origin = origins[path] ?? others.lazy.compactMap { origins[$0] }.first
                problems.append(
                    ConfigProblem(
                        origin: origin ?? .wholeFile("built-in default"), path: path, text: text))
            }
        }
        guard problems.isEmpty else { throw ConfigErrors(problems: problems) }
        return config
    }
}
