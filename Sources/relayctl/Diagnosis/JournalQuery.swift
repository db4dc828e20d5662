/// A search in the journal for what relayd wrote: the command line of journalctl, made from the
/// options of `relayctl log`.
struct JournalQuery: Sendable, Equatable {
    var unit = "relayd.service"
    /// App names, app IDs, or connections as "#1" or "1".
    var apps: [String] = []
    var functions: [String] = []
    /// Only answers that were not successful.
    var failed = false
    /// Only relayd's own warnings, errors and advice.
    var warnings = false
    var since: String?
    var lines: Int?
    var follows = false
    var isJSON = false

    /// journalctl and its arguments.
    ///
    /// Matches of one field are alternatives to journalctl and different fields all have to hold;
    /// an app may be meant by name or ID, two fields, hence the groups with "+" between.
    var command: [String] {
        var words = ["journalctl", "--unit=\(unit)"]
        words += isJSON ? ["--output=json"] : ["--output=short", "--no-hostname"]
        if let since { words.append("--since=\(since)") }
        if let lines { words.append("--lines=\(lines)") }
        if follows { words.append("--follow") }
        if warnings { words.append("--priority=warning") }
        var common = functions.map { "SDL_FUNCTION=\($0)" }
        if failed { common.append("SDL_SUCCESS=0") }
        let groups = Self.appMatches(apps)
        guard !groups.isEmpty else { return words + common }
        words += groups.map { $0 + common }.joined(separator: ["+"])
        return words
    }

    /// The matches that select apps, one group for each field.
    private static func appMatches(_ apps: [String]) -> [[String]] {
        let connections = apps.compactMap { app in
            app.hasPrefix("#") ? app : UInt64(app).map { "#\($0)" }
        }
        let names = apps.filter { !$0.hasPrefix("#") }
        return [
            names.map { "SDL_APP=\($0)" }, names.map { "SDL_APP_ID=\($0)" },
            connections.map { "SDL_CONNECTION=\($0)" },
        ].filter { !$0.isEmpty }
    }

    /// The command as one types it in a shell.
    var shellText: String {
        command.map { word in
            let isPlain = word.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "-_=./:,@+".contains($0))
            }
            return isPlain && !word.isEmpty
                ? word
                : "'"
                    + word.split(separator: "'", omittingEmptySubsequences: false)
                    .joined(separator: #"'\''"#) + "'"
        }.joined(separator: " ")
    }
}
