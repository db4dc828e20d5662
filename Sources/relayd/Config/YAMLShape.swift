internal import CYaml

// Refuses what no configuration needs and what costs without bound, before a tree is made of the text:
// aliases, which a few hundred bytes multiply to gigabytes, and nesting. Called by `ConfigBuilder`.

/// The outline of a YAML text, by the events of its parser.
enum YAMLShape {
    /// The deepest option, an entry of `log.functions`, is on level 3.
    static let maximumDepth = 16

    /// Says nothing about what is no YAML: `YAMLSource` does, in words.
    static func check(_ text: String) throws(YAMLSource.SyntaxError) {
        if let problem = Array(text.utf8).withUnsafeBufferPointer(problem) { throw problem }
    }

    private static func problem(in bytes: UnsafeBufferPointer<UInt8>) -> YAMLSource.SyntaxError? {
        // The parser keeps pointers to itself.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else { return nil }
        defer { yaml_parser_delete(parser) }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
        var depth = 0
        while true {
            var event = yaml_event_t()
            guard yaml_parser_parse(parser, &event) == 1 else { return nil }
            defer { yaml_event_delete(&event) }
            switch event.type {
            case YAML_ALIAS_EVENT:
                let name = event.data.alias.anchor.map { String(cString: $0) } ?? ""
                return refusal(
                    "found the alias *\(ConfigValue.visible(name)); a configuration has no aliases: "
                        + "write the value itself, in quotes if it begins with *", at: event)
            case YAML_SEQUENCE_START_EVENT, YAML_MAPPING_START_EVENT:
                depth += 1
                if depth > maximumDepth {
                    return refusal("nested more than \(maximumDepth) levels deep", at: event)
                }
            case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: depth -= 1
            case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return nil
            default: break
            }
        }
    }

    private static func refusal(
        _ text: String, at event: yaml_event_t
    ) -> YAMLSource.SyntaxError {
        let mark = event.start_mark
        return YAMLSource.SyntaxError(
            position: YAMLSource.Position(
                line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1),
            text: text)
    }
}
