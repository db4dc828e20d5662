internal import CLibYAML

// The events of libyaml as values, and its errors in words. The only file that uses libyaml; `YAMLComposer`
// asks for one event after another.

/// A text that is being parsed.
final class YAMLEvents {
    struct Event {
        enum Content {
            case documentStart
            case scalar(YAMLNode.Scalar)
            case alias(String)
            case sequenceStart
            case mappingStart
            /// The end of a sequence or a mapping; libyaml has paired them.
            case collectionEnd
            case streamEnd
            /// An event that has no part in a tree.
            case other
        }
        let content: Content
        let place: YAMLPlace
    }

    /// On the heap, because libyaml keeps its address.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>
    private let subject: YAMLSubject

    /// - Parameter body: Gets the events; they are invalid once it returns.
    static func parsing<Value>(
        _ text: String, _ subject: YAMLSubject, _ body: (YAMLEvents) throws(YAMLError) -> Value
    ) throws(YAMLError) -> Value {
        var text = Array(text.utf8)[...]
        // Editors on other systems start a file with a byte order mark.
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
        return try text.withUnsafeBufferPointer { bytes throws(YAMLError) in
            try body(try YAMLEvents(bytes, subject))
        }
    }

    private init(
        _ text: UnsafeBufferPointer<UInt8>, _ subject: YAMLSubject
    ) throws(YAMLError) {
        (self.text, self.subject) = (text, subject)
        parser = .allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            // Out of memory; a partial parser is released.
            throw YAMLError(place: YAMLPlace(line: 1, column: 1), text: "not read: out of memory")
        }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    func next() throws(YAMLError) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw error }
        defer { yaml_event_delete(&event) }
        let place = YAMLPlace(event.start_mark)
        return Event(content: Self.content(of: event, at: place), place: place)
    }

    private static func content(of event: yaml_event_t, at place: YAMLPlace) -> Event.Content {
        switch event.type {
        case YAML_STREAM_END_EVENT, YAML_NO_EVENT: .streamEnd
        case YAML_DOCUMENT_START_EVENT: .documentStart
        case YAML_ALIAS_EVENT: .alias(string(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            .scalar(
                YAMLNode.Scalar(
                    text: String(
                        decoding: UnsafeBufferPointer(
                            start: event.data.scalar.value, count: event.data.scalar.length),
                        as: UTF8.self),
                    isPlain: event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
                    tag: string(event.data.scalar.tag), place: place))
        case YAML_SEQUENCE_START_EVENT: .sequenceStart
        case YAML_MAPPING_START_EVENT: .mappingStart
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: .collectionEnd
        default: .other
        }
    }

    private static func string(_ bytes: UnsafePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }

    // MARK: Errors

    private var error: YAMLError {
        let state = parser.pointee
        let problem = state.problem.map { String(cString: $0) } ?? "it cannot be read"
        switch state.error {
        case YAML_READER_ERROR:
            return YAMLError(
                place: place(ofByte: state.problem_offset), text: "not YAML: \(problem)")
        case YAML_MEMORY_ERROR:
            return YAMLError(place: YAMLPlace(state.mark), text: "not read: out of memory")
        default:
            let place = YAMLPlace(state.problem_mark)
            let context = state.context.map { String(cString: $0) }
            var text = "not YAML: \(problem)"
            if let context {
                let line = YAMLPlace(state.context_mark).line
                text += ", \(context)" + (line == place.line ? "" : " (line \(line))")
            }
            if problem.contains("mapping values are not allowed") {
                text += "; a value that ends in a colon needs quotes, as in \(subject.colonExample)"
            }
            if problem.contains("cannot start any token") {
                text += "; indent with spaces, not tabs, and put quotes around special characters"
            }
            if let context, context.contains("scanning a tag") {
                text += "; text that begins with ! needs quotes"
            }
            return YAMLError(place: place, text: text)
        }
    }

    /// Errors in the bytes come without a mark, so the place is counted.
    private func place(ofByte offset: Int) -> YAMLPlace {
        var place = YAMLPlace(line: 1, column: 1)
        for byte in text.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                place = YAMLPlace(line: place.line + 1, column: 1)
            } else if byte & 0xC0 != 0x80 {
                place.column += 1
            }
        }
        return place
    }
}

extension YAMLPlace {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
    }
}
