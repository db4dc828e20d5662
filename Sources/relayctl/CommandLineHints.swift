/// What ArgumentParser leaves to us: options before the command, and mistyped commands.
///
/// `RelayCtl.execute` asks it before parsing.
package enum CommandLineHints {
    /// Options all commands share, and whether a value follows.
    private static let shared = ["--socket": true, "--color": true, "--json": false]

    /// `relayctl --socket PATH status` as `relayctl status --socket PATH`: people put them where
    /// other tools have them.
    package static func commandFirst(_ arguments: [String]) -> [String] {
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

    private static func name(_ option: String) -> String {
        String(option.prefix { $0 != "=" })
    }

    /// The message for a first word that is no command, or nil.
    package static func unknownCommand(_ arguments: [String], known: [String]) -> String? {
        guard let word = arguments.first, !word.hasPrefix("-"), !known.contains(word) else {
            return nil
        }
        let shown = SafeText.clean(word)
        if let guess = nearest(to: word, in: known) {
            return "there is no command '\(shown)'; did you mean '\(guess)'?"
        }
        return "there is no command '\(shown)'; known: \(known.joined(separator: ", "))"
    }

    /// The nearest word within a third of its length in typing errors, at least one.
    package static func nearest(to word: String, in words: [String]) -> String? {
        words.map { ($0, distance(Array(word), Array($0))) }
            .filter { $0.1 <= max(1, $0.0.count / 3) }
            .min { $0.1 < $1.1 }?.0
    }

    /// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
    static func distance(_ a: [Character], _ b: [Character]) -> Int {
        // A row per prefix of a; only the last two are looked at.
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    best = min(best, beforeLast[j - 1] + 1)
                }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
