import ArgumentParser
import Foundation
import RelayTesting

@testable import relayd

// The page about every configuration option, generated from what the reader accepts, from the shipped file's
// comments, and from what environment and flags are observed to change. `ConfigPageTests` compare it with the
// committed page, and write it when told to.

/// `Documentation/configuration.md`.
enum ConfigPage {
    static let file = Checkout.root.appending(path: "Documentation/configuration.md")

    /// The page to be committed.
    static func text() throws -> String {
        let reasons = ConfigJSONSchema.descriptions(
            try String(contentsOf: ConfigJSONSchema.shipped, encoding: .utf8))
        let options = ConfigSchema().options
        let others = try setters()
        var lines = [head]
        lines.append("## All options\n")
        lines.append("| key | environment | flag | default | applied by |")
        lines.append("|---|---|---|---|---|")
        for option in options {
            let setters = others[option.path] ?? []
            let variables = setters.filter { !$0.hasPrefix("--") }
            let flags = setters.filter { $0.hasPrefix("--") }
            lines.append(
                """
                | [`\(option.path)`](#\(anchor(option.path))) | \(code(variables)) | \(code(flags)) | \
                \(inTable(builtIn(option))) | \(isReloadable(option) ? "reload" : "restart") |
                """)
        }
        var section: String?
        for option in options {
            let parts = option.path.split(separator: ".").map(String.init)
            let own = parts.count > 1 ? parts[0] : "Top of the file"
            if own != section {
                section = own
                lines.append("\n## \(own)")
            }
            lines.append("\n### \(option.path)\n")
            lines.append("Default: \(builtIn(option)). Accepts \(accepted(option)).")
            lines.append("")
            lines.append(paragraphs(reasons[option.path] ?? ""))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let head = """
        # Configuration

        <!-- Made of config/relayd.yaml and the reader's own list of options. Do not edit: change those, then run
             RELAY_WRITE_CONFIG_SCHEMA=1 swift test \u{2D}-filter isCurrent -->

        relayd runs without any configuration. To change something, write the options you need into `/etc/relayd/relayd.yaml`, or
        into a file that `--config` or `RELAYD_CONFIG` names. [config/relayd.yaml](../config/relayd.yaml) shows the whole file with
        every option at its default, and an editor with a YAML language server checks it by
        [its JSON Schema](../config/relayd.schema.json).

        - A key with a dot is a key in a section: `apps.maximum` is `maximum:` in the section `apps:`.
        - Flags override the environment, the environment overrides the file, and the file overrides the defaults.
          `relayctl config` prints the options that are set and where each value comes from; `--all` adds those at their default.
        - Durations have a unit (`500ms`, `20s`, `2m`, `1h`). Sizes may have one (`4096`, `256 KiB`, `16 MiB`).

        After a change, check the file, then apply it:

        ```sh
        relayd --check-config --config /etc/relayd/relayd.yaml
        sudo systemctl reload relayd
        ```

        relayd names every mistake with its line and column, and rejects a file with a mistake as a whole. Options that the table
        marks with *restart* take effect after `sudo systemctl restart relayd`. Of the others, `apps.silent_timeout`,
        `limits.maximum_payload` and some options of `openxc` apply to new connections, and most options of `record` to the next
        recording; `relayctl reload` names them.

        """

    // MARK: Environment and flags

    /// By option: the variables and flags observed to set it.
    static func setters() throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for variable in EnvironmentVariable.allCases where variable != .config {
            for path in try paths(setBy: variable) {
                found[path, default: []].append(variable.rawValue)
            }
        }
        for flag in flags where !["--config", "--check-config"].contains(flag) {
            for path in try paths(setBy: flag) { found[path, default: []].append(flag) }
        }
        return found
    }

    /// relayd's flags, except those that every program has.
    static var flags: [String] {
        let usage = Arguments.helpMessage(includeHidden: false, columns: 200)
        var found: [String] = []
        for match in usage.matches(of: #/--[a-z][a-z-]*/#) {
            let flag = String(match.0)
            if !found.contains(flag), flag != "--help", flag != "--version" { found.append(flag) }
        }
        return found
    }

    private static func paths(setBy variable: EnvironmentVariable) throws -> [String] {
        try firstValueThatFits { value in
            var builder = ConfigBuilder()
            builder.add(environment: [variable.rawValue: value])
            _ = try builder.finish()
            return builder.pathsSet
        }
    }

    private static func paths(setBy flag: String) throws -> [String] {
        try firstValueThatFits { value in
            var builder = ConfigBuilder()
            builder.add(flags: try Arguments.parse([flag, value]))
            _ = try builder.finish()
            return builder.pathsSet
        }
    }

    private static func firstValueThatFits(
        _ attempt: (String) throws -> Set<String>
    ) throws -> [String] {
        for value in ["127.0.0.1:9", "/run/test.sock", "json", "debug", "Show", "rpc", "sim:"] {
            if let paths = try? attempt(value), !paths.isEmpty { return paths.sorted() }
        }
        return []
    }

    // MARK: Values

    static func isReloadable(_ option: ConfigOption) -> Bool {
        ReloadPlan.reloadable.contains(option.path)
    }

    /// The default, written as in the file.
    private static func builtIn(_ option: ConfigOption) -> String {
        let defaults = Config()
        if case .list(let list) = option.value(defaults) {
            return "`[\(list.map { "\"\($0)\"" }.joined(separator: ", "))]`"
        }
        let text = option.text(defaults)
        let isQuoted =
            switch option.shape {
            case .text(let form): text.isEmpty || form == .fileMode
            default: false
            }
        return isQuoted ? "`\"\(text)\"`" : "`\(text)`"
    }

    /// The reader's description of what it expects, when it finds nothing there.
    static func accepted(_ option: ConfigOption) -> String {
        var problems: [ConfigProblem] = []
        var config = Config()
        option.apply(ConfigValue(.nothing, at: .wholeFile("")), &config, &problems)
        let text = problems.first?.text ?? ""
        return text.firstRange(of: "; expected ").map { String(text[$0.upperBound...]) } ?? ""
    }

    // MARK: Markdown

    /// A heading's anchor, as forges derive it.
    static func anchor(_ heading: String) -> String { heading.replacing(".", with: "") }

    private static func code(_ words: [String]) -> String {
        words.map { "`\($0)`" }.joined(separator: ", ")
    }

    private static func inTable(_ text: String) -> String { text.replacing("|", with: "\\|") }

    /// A comment's paragraphs, with its indented words and meanings as a list.
    private static func paragraphs(_ comment: String) -> String {
        var lines: [String] = []
        var isList = false
        for line in comment.split(separator: "\n", omittingEmptySubsequences: false) {
            if let item = line.wholeMatch(of: #/  (\S.*?) {2,}(.*)/#) {
                if !isList { lines.append("") }
                isList = true
                lines.append("- `\(item.1)`: \(item.2)")
            } else if line.hasPrefix("    "), isList {
                lines[lines.count - 1] += " \(line.trimmingPrefix(while: { $0 == " " }))"
            } else {
                if isList { lines.append("") }
                isList = false
                lines.append(String(line))
            }
        }
        return lines.map(wrapped).joined(separator: "\n")
    }

    /// Wraps a paragraph to the line length of the other pages.
    private static func wrapped(_ paragraph: String) -> String {
        let indent = paragraph.hasPrefix("- ") ? "  " : ""
        var lines: [String] = []
        for word in paragraph.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= 125 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append((lines.isEmpty ? "" : indent) + word)
            }
        }
        return lines.joined(separator: "\n")
    }
}
