import MessageFilters

// The apps of a scenario by their roles.

extension ScenarioRun {
    /// Whether the message is about the app of a role; always true without a role.
    func isOf(_ role: String?, _ message: ScenarioMessage) -> Bool {
        guard let role, let app = scenario.apps.first(where: { $0.role == role }) else {
            return true
        }
        guard let number = message.app else { return false }
        switch app.kind {
        case .connects("*"):
            // Not apps that have a role of their own.
            return !connections.contains { $0.key != role && $0.value == number }
        case .connects(let pattern):
            let term = FilterTerm.app(TextPattern(typed: pattern), connection: nil)
            return connections[role] == number || message.holds(term) == true
        case .sample(let name, _), .own(let name, _, _):
            return connections[role] == number || message.appName == name
        }
    }

    /// The filter, limited to the app of a role.
    func ofRole(_ role: String?, _ filter: String) -> String {
        guard let role, let app = scenario.apps.first(where: { $0.role == role }) else {
            return filter
        }
        let sign: String
        let name: String
        switch app.kind {
        case .connects("*"): return filter
        case .connects(let pattern): (sign, name) = (":", pattern)
        case .sample(let whole, _), .own(let whole, _, _): (sign, name) = ("=", whole)
        }
        return "app\(sign)\(name.inQuotes) (\(filter))"
    }

    func target(_ role: String?) -> ScenarioTarget {
        let app = scenario.apps.first { $0.role == role }
        let pattern =
            switch app?.kind {
            case .connects(let pattern)?: pattern
            case .sample(let name, _)?, .own(let name, _, _)?: name
            case nil: "*"
            }
        return ScenarioTarget(
            role: role ?? "", connection: role.flatMap { connections[$0] }, pattern: pattern)
    }
}
