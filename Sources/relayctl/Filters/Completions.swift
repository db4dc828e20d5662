// What the shell offers behind options and in a filter. relayctl itself is asked by the completion
// scripts, so all of this is quick and silent: a shell that waits is worse than one that offers
// nothing.

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

    /// Names of apps that are connected.
    static var apps: CompletionKind {
        .custom { words, _, _ async in await appNames(words) }
    }

    static var savedFilters: CompletionKind {
        .custom { _, _, _ in saved }
    }

    /// A term of a filter: a key, then what may stand behind it.
    static var filter: CompletionKind {
        .custom { words, index, prefix async in
            if let key = splitKey(words, index) { return await values(key, words) }
            return await terms(prefix, words)
        }
    }

    /// The key when the shell takes what stands behind a ":" for a word of its own, as bash does; it
    /// keeps what stands before.
    static func splitKey(_ words: [String], _ index: Int) -> String? {
        for sign in [index, index - 1] where words.indices.contains(sign) && sign > 0 {
            if words[sign] == ":" { return words[sign - 1].lowercased() }
        }
        return nil
    }

    static func terms(_ prefix: String, _ words: [String]) async -> [String] {
        // The part that is being written: what follows the last blank, bracket or quote.
        let start =
            prefix.lastIndex { " (|!'\"".contains($0) }.map(prefix.index(after:))
            ?? prefix.startIndex
        let (front, term) = (String(prefix[..<start]), prefix[start...])
        guard term.contains(":") else {
            return (keys + saved.map { "@" + $0 }).map { front + $0 }
        }
        let key = term.prefix { $0 != ":" }
        return await values(key.lowercased(), words).map { "\(front)\(key):\($0)" }
    }

    private static func values(_ key: String, _ words: [String]) async -> [String] {
        switch key {
        case "app":
            await appNames(words).map { $0.contains(" ") ? "\"\($0)\"" : $0 }
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

    private static func appNames(_ words: [String]) async -> [String] {
        await ControlClient.$defaultTimeout.withValue(patience) {
            guard let sockets = try? ControlSocket.forTool(given: socket(words)),
                let known = try? await ControlClient(sockets: sockets)
                    .ask(AppList.self, Routes.apps).value
            else { return [] }
            return known.apps.compactMap { $0.appName.map(SafeText.clean) }.sorted()
        }
    }

    /// What stands behind --socket on the line that is being written, without its quotes.
    private static func socket(_ words: [String]) -> String? {
        guard let place = words.lastIndex(of: "--socket"), words.indices.contains(place + 1) else {
            return nil
        }
        return words[place + 1].trimming { $0 == "'" || $0 == "\"" }
    }
}

extension String {
    fileprivate func trimming(_ isUnwanted: (Character) -> Bool) -> String {
        let front = drop(while: isUnwanted)
        guard let end = front.lastIndex(where: { !isUnwanted($0) }) else { return "" }
        return String(front[...end])
    }
}
