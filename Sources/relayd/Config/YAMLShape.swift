internal import CYAMLShape

// Refuses what no configuration needs and what costs without bound, before a tree is made of the text:
// aliases, which a few hundred bytes multiply to gigabytes, and nesting. Called by `ConfigBuilder`.

/// The outline of a YAML text.
enum YAMLShape {
    /// The deepest option, an entry of `log.functions`, is on level 3.
    static let maximumDepth = 16

    /// Says nothing about what is no YAML: `YAMLSource` does, in words.
    static func check(_ text: String) throws(YAMLSource.SyntaxError) {
        var place = relay_yaml_place()
        let bytes = Array(text.utf8)
        let finding = relay_yaml_shape(bytes, bytes.count, CInt(maximumDepth), &place)
        let name = withUnsafeBytes(of: place.name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let words: String
        switch finding {
        case RELAY_YAML_ALIAS:
            words =
                "found the alias *\(ConfigValue.visible(name)); a configuration has no aliases: "
                + "write the value itself, in quotes if it begins with *"
        case RELAY_YAML_TOO_DEEP: words = "nested more than \(maximumDepth) levels deep"
        default: return
        }
        throw YAMLSource.SyntaxError(
            position: .init(line: Int(clamping: place.line), column: Int(clamping: place.column)),
            text: words)
    }
}
