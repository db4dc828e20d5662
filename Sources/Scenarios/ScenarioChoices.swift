package import ControlAPI
import DidYouMean

// What may be chosen for a run of a scenario: its app, and values of its variables.

/// Why a choice cannot be made, in words for people.
package struct ScenarioChoiceError: Error, Sendable, Equatable {
    package let message: String
}

extension Scenario {
    /// Fills in an app.
    ///
    /// - Parameter text: "NAME" of the only app, or "ROLE=NAME".
    package mutating func choose(app text: String) throws(ScenarioChoiceError) {
        var (role, name): (String?, String) = (nil, text)
        if let sign = text.firstIndex(of: "="), apps.contains(where: { $0.role == text[..<sign] }) {
            (role, name) = (String(text[..<sign]), String(text[text.index(after: sign)...]))
        }
        let chosen = apps.indices.filter { index in role.map { $0 == apps[index].role } ?? true }
        guard chosen.count == 1, let index = chosen.first else {
            let roles = apps.map(\.role).joined(separator: ", ")
            throw ScenarioChoiceError(
                message: apps.isEmpty
                    ? "the scenario has no apps: to choose from"
                    : "which app? expected ROLE=NAME with one of \(roles)")
        }
        apps[index].kind = .connects(name)
    }

    /// Parses a value for one of its variables.
    ///
    /// - Parameter text: "NAME=VALUE".
    package func value(
        set text: String
    ) throws(ScenarioChoiceError) -> (name: String, value: AnyJSON) {
        let name = String(text.prefix { $0 != "=" })
        guard variables[name] != nil else {
            let near = Spelling.nearest(name, in: variables.keys.sorted())
            throw ScenarioChoiceError(
                message: "the scenario has no variable \"\(ScenarioWord.shown(name))\""
                    + (near.map { "; did you mean \($0)?" } ?? ""))
        }
        return (name, ScenarioReader.value(String(text.dropFirst(name.count + 1))))
    }
}
