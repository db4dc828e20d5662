internal import Yams

// The text of a configuration file as a tree of YAML nodes, or the place where it stops being
// YAML. Called by `ConfigBuilder`; the only file besides `ConfigWalk` that knows Yams.

/// A parsed configuration file.
struct YAMLSource {
    /// `nil` for a file without content.
    let root: Node?
    /// First letters of keys that are given again further down, by where the key starts.
    let repeated: [Position: Unicode.Scalar]

    /// A place in the text; line and column start at 1, columns count Unicode scalars.
    struct Position: Hashable {
        var line: Int
        var column: Int

        init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        init(_ mark: Mark) {
            self.init(line: mark.line, column: mark.column)
        }
    }

    /// Why a text is not YAML.
    struct SyntaxError: Error {
        var position: Position
        var text: String
    }

    /// Parses the text.
    ///
    /// Yams refuses a mapping with a repeated key as a whole and names only the key's first
    /// place. To report every other problem in the same pass, the first letter of that first
    /// key is replaced by a private-use character, which moves no column, and the text is
    /// parsed again. `key(_:at:)` undoes the replacement.
    init(_ text: String) throws(SyntaxError) {
        var text = text
        var repeated: [Position: Unicode.Scalar] = [:]
        while true {
            do {
                root = try Yams.compose(yaml: text, .default, .default, .utf8)
                self.repeated = repeated
                return
            } catch let YamlError.duplicatedKeysInMapping(names, context) {
                let position = Position(context.mark)
                guard repeated.count < Self.maximumRepeated, repeated[position] == nil,
                    let first = Self.disguise(&text, at: position, as: repeated.count)
                else {
                    let name = names.first ?? ""
                    throw SyntaxError(
                        position: position,
                        text: "the key \(ConfigValue.shown(name)) is given more than once")
                }
                repeated[position] = first
            } catch {
                throw Self.syntaxError(error)
            }
        }
    }

    /// More repeated keys than this are no slip of an editor; the first is reported alone.
    private static let maximumRepeated = 64
    private static let firstDisguise: UInt32 = 0xE000

    /// Replaces the first letter of the key at `position` and returns what it was.
    private static func disguise(
        _ text: inout String, at position: Position, as number: Int
    ) -> Unicode.Scalar? {
        guard let disguise = Unicode.Scalar(firstDisguise + UInt32(number)),
            var index = index(of: position, in: text)
        else { return nil }
        if text.unicodeScalars[index] == "\"" || text.unicodeScalars[index] == "'" {
            index = text.unicodeScalars.index(after: index)
        }
        guard index < text.unicodeScalars.endIndex else { return nil }
        let first = text.unicodeScalars[index]
        guard ("a"..."z").contains(first) || ("A"..."Z").contains(first) else { return nil }
        text.unicodeScalars.replaceSubrange(
            index...index, with: CollectionOfOne(disguise))
        return first
    }

    /// The key as it was written, whether or not it is disguised.
    func key(_ text: String, at position: Position) -> (name: String, isRepeated: Bool) {
        guard let first = repeated[position] else { return (text, false) }
        var name = String(first)
        name.unicodeScalars.append(contentsOf: text.unicodeScalars.dropFirst())
        return (name, true)
    }

    private static func index(of position: Position, in text: String) -> String.Index? {
        var line = 1
        var column = 1
        var index = text.unicodeScalars.startIndex
        while index < text.unicodeScalars.endIndex {
            if line == position.line, column == position.column { return index }
            if text.unicodeScalars[index] == "\n" {
                line += 1
                column = 1
            } else {
                column += 1
            }
            index = text.unicodeScalars.index(after: index)
        }
        return nil
    }

    private static func syntaxError(_ error: any Error) -> SyntaxError {
        let start = Position(line: 1, column: 1)
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            var text = "not YAML: \(problem)"
            if let context {
                let place = context.mark.line == mark.line ? "" : " (line \(context.mark.line))"
                text += ", \(context.text)\(place)"
            }
            if problem.contains("mapping values are not allowed") {
                text += "; a value that ends in a colon needs quotes, as in accessory: \"sim:\""
            }
            if problem.contains("cannot start any token") {
                text += "; indent with spaces, not tabs, and put quotes around special characters"
            }
            if let context, context.text.contains("scanning a tag") {
                text += "; text that begins with ! needs quotes"
            }
            return SyntaxError(position: Position(mark), text: text)
        case YamlError.reader(let problem, let offset, _, let yaml):
            let end = offset.flatMap {
                yaml.index(yaml.startIndex, offsetBy: $0, limitedBy: yaml.endIndex)
            }
            var position = start
            for scalar in yaml[..<(end ?? yaml.startIndex)].unicodeScalars {
                if scalar == "\n" {
                    position = Position(line: position.line + 1, column: 1)
                } else {
                    position.column += 1
                }
            }
            return SyntaxError(position: position, text: "not YAML: \(problem)")
        default:
            return SyntaxError(position: start, text: "not YAML: \(error)")
        }
    }
}
