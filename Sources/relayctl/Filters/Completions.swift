// Words that the shell offers for options and in a filter. The completion scripts ask relayctl itself, so
// all of this is quick and silent: a shell that waits is worse than one that offers nothing.

import ArgumentParser
import ControlAPI
import MessageFilters
import NIOCore
import SDLAdvice
import SDLProtocol

enum Completions {
    /// Longest time a shell waits for relayd.
    private static let patience = TimeAmount.milliseconds(300)

    static var functions: CompletionKind { .list(FunctionID.all.map(\.name).sorted()) }
    static var codes: CompletionKind { .list(AdviceCode.allCases.map(\.rawValue).sorted()) }

    static var kinds: CompletionKind { .list(FilterTerm.NameKey.kind.words) }
    static var services: CompletionKind { .list(FilterTerm.NameKey.service.words) }

    /// Names of connected apps; for an app whose name cannot be typed, its number.
    static var apps: CompletionKind {
        .custom { words, _, _ async in
            literal(await connected(words).map { $0.name ?? $0.number }.sorted())
        }
    }

    /// Signals that a vehicle interface has sent.
    static var signals: CompletionKind {
        .custom { words, _, _ async in
            await ControlClient.$defaultTimeout.withValue(patience) {
                guard let sockets = try? ControlSocket.forTool(given: socket(words)),
                    let known = try? await ControlClient(sockets: sockets)
                        .ask(VehicleReport.self, Routes.vehicle).value
                else { return [] }
                let names = Set(known.measurements.map(\.name)).filter { SafeText.clean($0) == $0 }
                return literal(names.sorted())
            }
        }
    }

    /// Functions, and saved requests.
    static var requests: CompletionKind {
        .custom { _, _, _ in
            literal(
                FunctionID.all.map(\.name).sorted() + savedRequestNames.map { "@" + $0 })
        }
    }

    static var savedRequests: CompletionKind {
        .custom { _, _, _ in literal(savedRequestNames) }
    }

    private static var savedRequestNames: [String] {
        ((try? SavedRequests().all()) ?? []).map(\.name)
    }

    static var savedFilters: CompletionKind {
        .custom { _, _, _ in literal(saved) }
    }

    /// A term of a filter: a key, then its possible values.
    static var filter: CompletionKind {
        .custom { words, index, prefix async in
            if let key = splitKey(words, index) { return literal(await values(key, words)) }
            let word = words.indices.contains(index) ? words[index] : prefix
            return literal(await terms(written(prefix, of: word), words))
        }
    }

    /// Escapes words so that the shell offers them literally. Bash expands the offered words, including
    /// commands in them, and an app may have any name; zsh takes what follows a ":" as an explanation.
    static func literal(
        _ words: [String], for shell: CompletionShell? = .requesting
    ) -> [String] {
        switch shell {
        case CompletionShell.bash:
            words.map { "'" + $0.replacing("'", with: #"'\''"#) + "'" }
        case CompletionShell.zsh:
            words.map { $0.replacing(#"\"#, with: #"\\"#).replacing(":", with: #"\:"#) }
        default: words
        }
    }

    /// The key when the shell takes what follows a ":" as a separate word, as bash does; the shell keeps
    /// what comes before.
    static func splitKey(_ words: [String], _ index: Int) -> String? {
        for sign in [index, index - 1] where words.indices.contains(sign) && sign > 0 {
            if [":", "="].contains(words[sign]) { return words[sign - 1].lowercased() }
        }
        return nil
    }

    /// The part of a word before the cursor. The zsh script counts from the last blank, even in quotes.
    static func written(
        _ prefix: String, of word: String, in shell: CompletionShell? = .requesting
    ) -> String {
        let last = word.split(separator: " ", omittingEmptySubsequences: false).last
        return shell == .zsh && last?.count == prefix.count ? word : prefix
    }

    /// - Parameter prefix: The word before the cursor as it was typed. The shell keeps a leading quote
    ///   and expects what may follow it.
    static func terms(_ prefix: String, _ words: [String]) async -> [String] {
        let written = typed(prefix)
        // The term being typed: the text after the last blank or bracket.
        let start =
            written.lastIndex { " (|".contains($0) }.map(written.index(after:))
            ?? written.startIndex
        let term = written[start...].drop { $0 == "!" }
        let front = String(written[..<term.startIndex])
        if let sign = term.firstIndex(where: { ":=~".contains($0) }) {
            let key = term[..<sign].last == "!" ? term[..<sign].dropLast() : term[..<sign]
            return await values(key.lowercased(), words).map { front + term[...sign] + $0 }
        }
        if term.hasPrefix("param.") { return parameters.map { front + "param." + $0 } }
        let known = keys.filter { $0 != "!ok" || !front.hasSuffix("!") }
        let fitting = (known + saved.map { "@" + $0 }).filter { $0.hasPrefix(term) }
        guard fitting.count == 1, let only = fitting.first else {
            return fitting.map { front + $0 }
        }
        return await continued(only, words).map { front + $0 }
    }

    /// The prefix without the shell's quote or backslashes.
    private static func typed(_ prefix: String) -> String {
        if let quote = prefix.first, quote == "'" || quote == "\"" {
            return String(prefix.dropFirst())
        }
        return prefix.replacing("\\", with: "")
    }

    /// Completions for the only matching key. Shells add a blank after the only word offered, so a key is
    /// never offered alone.
    private static func continued(_ key: String, _ words: [String]) async -> [String] {
        let name = String(key.dropLast())
        if FilterTerm.NumberKey(rawValue: name) != nil {
            return [":", ">", "<"].map { name + $0 }
        }
        switch name {
        case "result": return [key, name + "="]
        case "text": return [key, name + "~"]
        case "param": return parameters.map { key + $0 }
        default:
            let values = await values(name, words)
            if values.isEmpty { return key == "app:" ? [key, "app:#"] : [key] }
            return [key] + values.map { key + $0 }
        }
    }

    /// Names of parameters of the functions in the RPC specification.
    private static var parameters: [String] {
        let names = RPCCatalogue.builtIn.functions.flatMap { $0.parameters.map(\.name) }
        return Set(names).sorted()
    }

    private static func values(_ key: String, _ words: [String]) async -> [String] {
        switch key {
        case "app": await connected(words).map { $0.pattern ?? $0.number }.sorted()
        case "rpc": FunctionID.all.map(\.name).sorted()
        case "kind": FilterTerm.NameKey.kind.words
        case "service": FilterTerm.NameKey.service.words
        case "from": FilterTerm.NameKey.from.words
        case "priority": FilterPriority.allCases.map(\.rawValue)
        default: []
        }
    }

    private static let keys = [
        "app:", "rpc:", "kind:", "service:", "from:", "result:", "ok", "!ok", "priority:", "ms>",
        "bytes>", "n:", "corr:", "session:", "text:", "param.",
    ]
    private static var saved: [String] {
        ((try? SavedFilters().all()) ?? []).map(\.name)
    }

    private static func connected(_ words: [String]) async -> [OfferedApp] {
        await ControlClient.$defaultTimeout.withValue(patience) {
            guard let sockets = try? ControlSocket.forTool(given: socket(words)),
                let known = try? await ControlClient(sockets: sockets)
                    .ask(AppList.self, Routes.apps).value
            else { return [] }
            return known.apps.map { OfferedApp($0.id, name: $0.appName) }
        }
    }

    /// The value of --socket on the line being typed, without its quotes.
    private static func socket(_ words: [String]) -> String? {
        guard let place = words.lastIndex(of: "--socket"), words.indices.contains(place + 1) else {
            return nil
        }
        return words[place + 1].trimming { $0 == "'" || $0 == "\"" }
    }
}

/// An app that a shell may offer.
struct OfferedApp: Equatable {
    let number: String
    /// Nil when the app has none, or one that a terminal cannot show as it is.
    let name: String?

    init(_ number: Int, name: String?) {
        self.number = "#\(number)"
        let isTypable = name.map { SafeText.clean($0) == $0 && !$0.allSatisfy(\.isWhitespace) }
        self.name = isTypable == true ? name : nil
    }

    /// The name in a filter without quotes, which shells use themselves: "?" stands for a letter that
    /// would end the name or that a shell would interpret.
    var pattern: String? {
        guard let name else { return nil }
        var pattern = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isPlain = !scalar.properties.isWhitespace && !Self.signs.contains(scalar)
            pattern.append(isPlain ? scalar : "?")
        }
        return String(pattern)
    }

    private static let signs = #"()|"'\`$!*<>&;"#.unicodeScalars
}

extension String {
    fileprivate func trimming(_ isUnwanted: (Character) -> Bool) -> String {
        let front = drop(while: isUnwanted)
        guard let end = front.lastIndex(where: { !isUnwanted($0) }) else { return "" }
        return String(front[...end])
    }
}
