// What a rule's filter may ask: only what can be told from one message before it is passed on.

import MessageFilters
import SDLProtocol

enum FaultScope {
    /// Refuses terms that cannot be decided for a message on its way.
    static func check(
        _ expression: FilterExpression, of text: String, for action: FaultAction
    ) throws(FaultRuleError) {
        let whole = 0..<text.unicodeScalars.count
        func refuse(_ message: String) -> FaultRuleError {
            FaultRuleError(.filter, whole, message)
        }
        guard !expression.isEverything else {
            throw refuse("expected what the rule takes, such as app:radio or rpc:PutFile")
        }
        for term in expression.terms {
            if let reason = reason(against: term) { throw refuse(reason) }
            guard case .nak = action else { continue }
            switch term {
            case .name(.rpc, _, _), .parameter, .text, .result, .number(.correlation, _, _):
                throw refuse(
                    "nak refuses StartService, which has no rpc, parameters, text, result or corr; "
                        + "use app:, session: or service:")
            default: break
            }
        }
        for side in [Direction.fromApp, .fromAccessory]
        where mayTake(completed(expression, for: action), from: side) {
            return
        }
        throw refuse("\(action) never takes what this filter selects")
    }

    private static func reason(against term: FilterTerm) -> String? {
        switch term {
        case .ok:
            "ok asks for the answer, which is not known while a message is on its way; use "
                + "result: for answers themselves"
        case .number(.milliseconds, _, _):
            "ms asks for the answer, which is not known while a message is on its way"
        case .number(.number, _, _):
            "n is counted when a message has passed; use count to limit a rule"
        case .priority: "priority is decided when a message has passed"
        case .name(.kind, _, let names)
        where names.isSubset(of: ["dropped", "event", "undecodable"]):
            "kind:\(names.sorted().joined(separator: ",")) is nothing that passes"
        default: nil
        }
    }

    /// The expression with what goes without saying: a filter that names no kind, service, direction or result
    /// means requests and notifications.
    static func completed(
        _ expression: FilterExpression, for action: FaultAction
    ) -> FilterExpression {
        switch action {
        case .answer: return expression.and(requests).and(fromApps)
        case .nak: return expression.and(control).and(fromApps)
        default:
            let isSaid = expression.terms.contains { term in
                switch term {
                case .name(.kind, _, _), .name(.service, _, _), .name(.from, _, _), .result: true
                default: false
                }
            }
            return isSaid ? expression : expression.and(messages)
        }
    }

    /// In brackets of its own: next to a `kind:` of the filter it would be an alternative.
    private static func only(
        _ key: FilterTerm.NameKey, _ names: Set<String>
    ) -> FilterExpression {
        let pattern = TextPattern(names.sorted().joined(separator: ","), .whole)
        return FilterExpression(.not(.not(.term(.name(key, pattern, names: names)))))
    }

    private static let messages = only(.kind, ["request", "notification"])
    private static let requests = only(.kind, ["request"])
    private static let control = only(.kind, ["control"])
    private static let fromApps = only(.from, ["app"])

    /// Whether some message from that side may be taken.
    static func mayTake(_ expression: FilterExpression, from direction: Direction) -> Bool {
        expression.accepts(SideSubject(direction: direction)) != false
    }

    /// A message of which only the sender's side is known.
    private struct SideSubject: FilterSubject {
        let direction: Direction

        func holds(_ term: FilterTerm) -> Bool? {
            guard case .name(.from, _, let names) = term else { return nil }
            return names.contains(direction.filterWord)
        }
    }
}

extension Direction {
    /// What filters call the sender.
    var filterWord: String { self == .fromApp ? "app" : "unit" }
}
