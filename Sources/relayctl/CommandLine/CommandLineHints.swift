import DidYouMean

/// Handles what ArgumentParser does not: options before the command, and mistyped commands.
///
/// Used by `RelayCtl.execute` before parsing.
enum CommandLineHints {
    /// Options all commands share, and whether a value follows.
    private static let shared = ["--socket": true, "--color": true, "--json": false]

    /// Turns `relayctl --socket PATH status` into `relayctl status --socket PATH`: people put options
    /// where other tools have them.
    static func commandFirst(_ arguments: [String]) -> [String] {
        var rest = arguments[...]
        var options: [String] = []
        while let first = rest.first, let takesValue = shared[name(first)] {
            let count = takesValue && !first.contains("=") ? 2 : 1
            options += rest.prefix(count)
            rest = rest.dropFirst(count)
        }
        guard let command = rest.first, !command.hasPrefix("-") else { return arguments }
        return [command] + options + rest.dropFirst()
    }

    /// Whether there is no command: nothing at all, or only options that all commands share.
    static func namesNoCommand(_ arguments: [String]) -> Bool {
        var rest = arguments[...]
        while let first = rest.first, let takesValue = shared[name(first)] {
            rest = rest.dropFirst(takesValue && !first.contains("=") ? 2 : 1)
        }
        return rest.isEmpty
    }

    private static func name(_ option: String) -> String {
        String(option.prefix { $0 != "=" })
    }

    /// The message for a first word that is not a command, or nil.
    static func unknownCommand(_ arguments: [String], known: [String]) -> String? {
        guard let word = arguments.first, !word.hasPrefix("-"), !known.contains(word) else {
            return nil
        }
        let shown = SafeText.clean(word)
        if let guess = Spelling.nearest(word, in: known) {
            return "there is no command '\(shown)'; did you mean '\(guess)'?"
        }
        return "there is no command '\(shown)'; known: \(known.joined(separator: ", "))"
    }
}
