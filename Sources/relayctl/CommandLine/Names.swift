import ArgumentParser

/// Checks and compares the names people type for an app, an RPC, a unit or a file. Used by the commands
/// that take such a name.
enum Names {
    /// Refuses empty names: `relayctl app "$APP"` with APP empty means no app at all, not all of them.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ names: [String], _ what: String, example: String) throws {
        guard names.contains(where: { $0.allSatisfy(\.isWhitespace) }) else { return }
        throw ValidationError("\(what) is empty; expected \(example)")
    }

    static func check(app: String) throws {
        try check(
            [app], "<app>", example: "a name, an app ID or a number as relayctl apps has them")
    }

    static func check(apps: [String]) throws {
        try check(apps, "--app", example: "a name, app ID or number as relayctl apps has them")
    }

    static func check(functions: [String]) throws {
        try check(functions, "--rpc", example: "the name of a function such as Show")
    }

    /// Whether two names are equal, ignoring case.
    static func areSame(_ one: String, _ other: String) -> Bool {
        one.lowercased() == other.lowercased()
    }

    /// Whether `name` contains `part`, ignoring case.
    static func isPart(_ part: String, of name: String) -> Bool {
        name.lowercased().contains(part.lowercased())
    }
}
