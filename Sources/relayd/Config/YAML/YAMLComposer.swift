/// Makes a tree of the events of libyaml, and refuses what no configuration needs and what costs
/// without bound: aliases, which a few hundred bytes multiply to gigabytes, nesting, and very many
/// values. Called by `ConfigBuilder`.
struct YAMLComposer {
    /// The deepest option, an entry of `log.functions`, is on level 3.
    static let maximumDepth = 16

    /// Keys and values, each counted. A list of a thousand apps has a thousand of them.
    static let maximumNodes = 10_000

    private let events: YAMLEvents
    private var nodes = 0

    private init(_ events: YAMLEvents) {
        self.events = events
    }

    /// The root of the text; nil when there is no document in it.
    ///
    /// - Throws: the first thing that is wrong.
    static func root(of text: String) throws(YAMLError) -> YAMLNode? {
        try YAMLEvents.parsing(text) { events throws(YAMLError) in
            var composer = YAMLComposer(events)
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
                            "another YAML document begins here; a configuration is one, so remove "
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
        guard nodes <= Self.maximumNodes else {
            throw YAMLError(
                place: event.place,
                text: "more than \(Self.maximumNodes) keys and values, which no configuration has")
        }
        switch event.content {
        case .scalar(let scalar): return .scalar(scalar)
        case .alias(let name):
            throw YAMLError(
                place: event.place,
                text:
                    "found the alias *\(ConfigValue.visible(name)); a configuration has no aliases: "
                    + "write the value itself, in quotes if it begins with *")
        case .sequenceStart:
            try check(depth, event)
            var items: [YAMLNode] = []
            while let item = try member(depth) { items.append(item) }
            return .sequence(items, at: event.place)
        case .mappingStart:
            try check(depth, event)
            var pairs: [YAMLNode.Pair] = []
            // libyaml gives every key a value.
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
        guard depth < Self.maximumDepth else {
            throw YAMLError(
                place: event.place, text: "nested more than \(Self.maximumDepth) levels deep")
        }
    }
}
