import SDLProtocol

/// What kind of text is parsed: its limits, and words for messages.
package struct YAMLSubject: Sendable {
    /// "configuration"
    package var noun: String
    /// A value that ends in a colon, with the quotes that it needs.
    package var colonExample: String
    package var maximumDepth: Int
    /// Maximum number of nodes; keys and values each count.
    package var maximumNodes: Int

    package init(noun: String, colonExample: String, maximumDepth: Int, maximumNodes: Int) {
        (self.noun, self.colonExample) = (noun, colonExample)
        (self.maximumDepth, self.maximumNodes) = (maximumDepth, maximumNodes)
    }
}

/// Builds a tree from the events of libyaml. Refuses constructs that nobody needs and whose cost has no
/// bound: aliases, which multiply a few hundred bytes to gigabytes, deep nesting, and very many values.
/// Called by every reader of a YAML file.
package struct YAMLComposer {
    private let events: YAMLEvents
    private let subject: YAMLSubject
    private var nodes = 0

    private init(_ events: YAMLEvents, _ subject: YAMLSubject) {
        (self.events, self.subject) = (events, subject)
    }

    /// The root of the text; nil when the text has no document.
    ///
    /// - Throws: The first error in the text.
    package static func root(
        of text: String, as subject: YAMLSubject
    ) throws(YAMLError) -> YAMLNode? {
        try YAMLEvents.parsing(text, subject) { events throws(YAMLError) in
            var composer = YAMLComposer(events, subject)
            return try composer.root()
        }
    }

    private mutating func root() throws(YAMLError) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            let event = try events.next()
            switch event.content {
            case .streamEnd: return root
            case .documentStart:
                guard root == nil else {
                    throw YAMLError(
                        place: event.place,
                        text:
                            "another YAML document begins here; a \(subject.noun) is one, so remove "
                            + "what belongs to the other, and the line with ---")
                }
                root = try node(try events.next(), depth: 0)
            default: continue
            }
        }
    }

    private mutating func node(
        _ event: YAMLEvents.Event, depth: Int
    ) throws(YAMLError) -> YAMLNode {
        nodes += 1
        guard nodes <= subject.maximumNodes else {
            throw YAMLError(
                place: event.place,
                text:
                    "more than \(subject.maximumNodes) keys and values, which no \(subject.noun) has"
            )
        }
        switch event.content {
        case .scalar(let scalar): return .scalar(scalar)
        case .alias(let name):
            throw YAMLError(
                place: event.place,
                text:
                    "found the alias *\(PrintableText.string(name, limit: 60)); a \(subject.noun) has no aliases: "
                    + "write the value itself, in quotes if it begins with *")
        case .sequenceStart:
            try check(depth, event)
            var items: [YAMLNode] = []
            while let item = try member(depth) { items.append(item) }
            return .sequence(items, at: event.place)
        case .mappingStart:
            try check(depth, event)
            var pairs: [YAMLNode.Pair] = []
            // libyaml supplies a value for every key.
            while let key = try member(depth), let value = try member(depth) {
                pairs.append(YAMLNode.Pair(key: key, value: value))
            }
            return .mapping(pairs, at: event.place)
        case .collectionEnd, .documentStart, .streamEnd, .other:
            throw YAMLError(place: event.place, text: "not YAML: a value was expected")
        }
    }

    /// The next node of a collection; nil at its end.
    private mutating func member(_ depth: Int) throws(YAMLError) -> YAMLNode? {
        let event = try events.next()
        if case .collectionEnd = event.content { return nil }
        return try node(event, depth: depth + 1)
    }

    private func check(_ depth: Int, _ event: YAMLEvents.Event) throws(YAMLError) {
        guard depth < subject.maximumDepth else {
            throw YAMLError(
                place: event.place, text: "nested more than \(subject.maximumDepth) levels deep")
        }
    }
}
