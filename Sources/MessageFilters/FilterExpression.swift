/// A message filter as people write it: `app:radio rpc:On* !ok ms>200`. Parsed from text by `FilterParser`
/// and applied by the owners of messages: relayd's API, `relayctl log`.
///
/// The dashboard implements the same language in JavaScript (filter.js); Tests/Fixtures/filters.json keeps
/// both consistent. Documentation/filters.md describes it for people.
package struct FilterExpression: Hashable, Sendable {
    package indirect enum Node: Hashable, Sendable {
        case term(FilterTerm)
        case not(Node)
        /// All must hold; an empty list always holds.
        case all([Node])
        /// Terms of one key side by side, such as `rpc:Show rpc:Alert`: one of them must hold.
        case either([FilterTerm])
        case any([Node])
    }

    package private(set) var root: Node

    package static let everything = FilterExpression(.all([]))

    package init(_ root: Node) {
        self.root = root
    }

    /// - Parameter text: At most `FilterParser.maximumLength` Unicode scalars.
    package init(_ text: String, names: FilterNames) throws(FilterError) {
        var parser = FilterParser(text, names: names)
        root = try parser.whole()
    }

    /// The filter `key:value` with any characters in the value; a leading `!` of the value stays a character.
    package init(_ key: String, _ value: String, names: FilterNames) throws(FilterError) {
        root = .term(try FilterParser("", names: names).term(key, value))
    }

    /// Evaluated for every message that is logged, so it compares without allocating.
    package var isEverything: Bool {
        if case .all(let nodes) = root { nodes.isEmpty } else { false }
    }

    /// Whether the filter needs what only the answer to a request can tell: `ok`, `result`, `ms`.
    package var asksForAnswers: Bool {
        terms.contains { term in
            switch term {
            case .ok, .result: true
            case .number(let key, _, _): key == .milliseconds
            default: false
            }
        }
    }

    /// Whether the filter searches text, which has to be built first.
    package var asksForText: Bool {
        terms.contains { term in
            if case .text = term { true } else { false }
        }
    }

    /// All terms, in the order they were written.
    package var terms: [FilterTerm] { Self.collect(root) }

    /// The nodes that stand side by side: all of them must hold.
    package var required: [Node] {
        guard case .all(let nodes) = root else { return [root] }
        return nodes
    }

    private static func collect(_ node: Node) -> [FilterTerm] {
        switch node {
        case .term(let term): [term]
        case .not(let node): collect(node)
        case .all(let nodes), .any(let nodes): nodes.flatMap(collect)
        case .either(let terms): terms
        }
    }

    // MARK: Asking

    /// Whether the filter accepts `subject`; nil when that depends on something not known yet.
    package func accepts(_ subject: some FilterSubject) -> Bool? {
        Self.accepts(subject, root)
    }

    private static func accepts(_ subject: some FilterSubject, _ node: Node) -> Bool? {
        switch node {
        case .term(let term): return subject.holds(term)
        case .not(let node): return accepts(subject, node).map { !$0 }
        case .all(let nodes):
            var isKnown = true
            // Text terms come last: the text has to be built first.
            for pass in 0...1 {
                for node in nodes where node.isText == (pass == 1) {
                    switch accepts(subject, node) {
                    case false?: return false
                    case nil: isKnown = false
                    case true?: break
                    }
                }
            }
            return isKnown ? true : nil
        case .any(let nodes):
            var isKnown = true
            for node in nodes {
                switch accepts(subject, node) {
                case true?: return true
                case nil: isKnown = false
                case false?: break
                }
            }
            return isKnown ? false : nil
        case .either(let terms):
            var isKnown = true
            for term in terms {
                switch subject.holds(term) {
                case true?: return true
                case nil: isKnown = false
                case false?: break
                }
            }
            return isKnown ? false : nil
        }
    }

    package var negated: FilterExpression { FilterExpression(root.negated) }

    /// A filter for which both must hold, as if they stood side by side.
    package func and(_ other: FilterExpression) -> FilterExpression {
        if isEverything { return other }
        if other.isEverything { return self }
        return FilterExpression(.together(required + other.required))
    }
}

/// An object that a filter is applied to.
package protocol FilterSubject {
    /// Whether the term holds; nil when that is not known yet.
    func holds(_ term: FilterTerm) -> Bool?
}

/// The names a filter may use.
package struct FilterNames: Sendable {
    /// Functions of the RPC specification.
    package var functions: [String]
    /// Returns the filter saved under a name; nil when there is none. Itself nil where no filters are saved.
    package var saved: (@Sendable (String) -> String?)?
    /// The error message for `@name` where no filters are saved.
    package var withoutSaved = "saved filters are known to relayctl only"

    package static let notInsideAnother = "a saved filter cannot use another one"

    package init(functions: [String], saved: (@Sendable (String) -> String?)? = nil) {
        self.functions = functions
        self.saved = saved
    }
}

/// Why a filter is not understood, and the place of the error.
package struct FilterError: Error, Hashable, Sendable {
    /// Unicode scalars from the start of the filter.
    package var range: Range<Int>
    package var message: String

    package init(_ range: Range<Int>, _ message: String) {
        self.range = range
        self.message = message
    }
}

extension FilterExpression.Node {
    fileprivate var isText: Bool {
        switch self {
        case .term(.text), .not(.term(.text)): true
        default: false
        }
    }
}
