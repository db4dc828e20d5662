// A filter written as text again, for the next reader: relayctl passes the filter that it has parsed on to
// relayd.

extension FilterExpression: CustomStringConvertible {
    package var description: String { Self.text(of: root, isInside: false) }

    private static func text(of node: Node, isInside: Bool) -> String {
        switch node {
        case .term(let term): return term.description
        case .not(let node): return "!" + text(of: node, isInside: true)
        case .either(let terms):
            let text = terms.map(\.description).joined(separator: " ")
            return isInside ? "(\(text))" : text
        case .all(let nodes):
            let text = nodes.map { node in
                // Alternative terms stay side by side.
                if case .either = node { return Self.text(of: node, isInside: false) }
                return Self.text(of: node, isInside: true)
            }.joined(separator: " ")
            return isInside ? "(\(text))" : text
        case .any(let nodes):
            let text = nodes.map { node in
                if case .any = node { return Self.text(of: node, isInside: true) }
                return Self.text(of: node, isInside: false)
            }.joined(separator: " | ")
            return isInside ? "(\(text))" : text
        }
    }
}

extension FilterTerm: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ok: "ok"
        case .app(let pattern, let connection):
            connection == nil ? "app\(pattern.signed)" : "app:\(pattern.text)"
        case .name(let key, let pattern, _): "\(key.rawValue)\(pattern.signed)"
        case .result(let pattern): "result\(pattern.signed)"
        case .priority(let priority, let isExact):
            "priority\(isExact ? "=" : ":")\(priority.rawValue)"
        case .number(let key, let order, let number):
            "\(key.rawValue)\(order.rawValue)\(number.text)"
        case .text(let pattern): "text:\(pattern.text.inQuotes)"
        case .parameter(let steps, let test): "param\(Self.path(steps))\(test)"
        }
    }

    private static func path(_ steps: [PathStep]) -> String {
        steps.map { step in
            switch step {
            case .member(let name): ".\(name)"
            case .index(let index): "[\(index)]"
            }
        }.joined()
    }
}

extension FilterTerm.ParameterTest: CustomStringConvertible {
    package var description: String {
        switch self {
        case .exists: ""
        case .contains(let pattern): "~" + pattern.signed.dropFirst()
        case .equals(let pattern, let number): number.map { "=\($0.text)" } ?? pattern.signed
        case .number(let order, let number): "\(order.rawValue)\(number.text)"
        }
    }
}

extension TextPattern {
    /// With its operator: `:` for a part and for wildcards, `=` for the whole text.
    fileprivate var signed: String {
        switch mode {
        case .part, .wildcards: ":" + text.inQuotes
        case .whole: "=" + text.inQuotes
        }
    }
}
