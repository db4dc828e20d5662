// Checks that relayctl accepts every relayctl command that relayd, its configuration, its units or its
// documents tell people to type.

import AccessoryLinks
import ArgumentParser
import Foundation
import RelayTesting
import Testing

@testable import relayctl
@testable import relayd

@Suite struct QuotedCommandTests {
    /// Words that follow "relayctl" where it is the subject of a sentence, and that resemble a command so
    /// closely that they could be a typo.
    private static let verbs: Set = ["ends", "has", "shows", "starts", "takes", "tells", "tries"]

    /// The value to use for a placeholder, given the command that it is an argument of.
    private static func value(for placeholder: String, of command: String) -> String? {
        if placeholder == "HOST:PORT" { return "127.0.0.1:2776" }
        guard placeholder.contains("⟦") || placeholder.wholeMatch(of: #/[A-Z]{1,5}/#) != nil else {
            return nil
        }
        return switch command {
        case "explain": "request_in_none"
        case "usb", "devices": "usb:openxc"
        default: "1"
        }
    }

    /// Why relayctl does not understand the words as a command line; nil if it does.
    private static func problem(_ words: [String]) async -> String? {
        let arguments = CommandLineHints.commandFirst(words)
        do {
            _ = try await RelayCtl.asyncParseAsRoot(arguments)
            return nil
        } catch {
            return RelayCtl.exitCode(for: error) == .success
                ? nil : RelayCtl.message(for: error)
        }
    }

    /// What is wrong with a mention of relayctl; nil if nothing is.
    static func problem(of mention: Mention) async -> String? {
        let named = CommandLineHints.commandFirst(mention.words)
        guard let command = named.first(where: { !$0.hasPrefix("-") }) else { return nil }
        let known = RelayCtl.commands.map { $0.configuration.commandName ?? "" } + ["help"]
        // The command is only known while the program runs.
        if command.contains("⟦") { return nil }
        if !verbs.contains(command) || mention.isWhole,
            let problem = CommandLineHints.unknownCommand([command], known: known)
        {
            return mention.isWhole || problem.contains("did you mean") ? problem : nil
        }
        guard known.contains(command) else { return nil }
        let words = mention.words.filter { !$0.hasPrefix("[") }.map { word in
            value(for: word, of: command) ?? (word == "on|off" ? "on" : word)
        }
        // A command's name alone refers to the command; it is not a line to type.
        if words == [command] { return nil }
        if ["filter", "request", "trace"].contains(command), words.count == 2 { return nil }
        if mention.isWhole { return await problem(words) }
        // In a sentence nothing marks the end of the command; its last option is part of it.
        let last = words.lastIndex { $0.hasPrefix("-") } ?? 0
        let ends = (last + 1)...min(last + 4, max(last + 1, words.count))
        var first: String?
        for end in ends {
            guard let problem = await problem(Array(words.prefix(end))) else { return nil }
            first = first ?? problem
        }
        return first
    }

    // MARK: Finding them

    struct Mention {
        var line: Int
        var words: [String]
        /// Whether the mention has quotes of its own, so that all of it is the command.
        var isWhole: Bool
    }

    /// The places in a text where words follow "relayctl".
    static func mentions(in text: String) -> [Mention] {
        // Joins a source line that continues on the next line.
        let text = text.contains("\\\n") ? text.replacing(#/\\\n\s*/#, with: "") : text
        var found: [Mention] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated() where line.contains("relayctl ")
        {
            // Interpolations in a sentence. Searches in whole files would be slow.
            let line =
                line
                .replacing(#/\\\([^()]*(\([^()]*\)[^()]*)*\)|\$\{[^}]*\}/#, with: "⟦1⟧")
                .replacing("\\\"", with: "\"")
            var rest = line[...]
            while let name = rest.firstRange(of: "relayctl") {
                let before = rest[..<name.lowerBound].last
                rest = rest[name.upperBound...]
                guard rest.first == " ", before.map({ "`'\"(>/ ".contains($0) }) ?? true else {
                    continue
                }
                let end: Character? =
                    switch before {
                    case "`": "`"
                    case "'": "'"
                    case ">": "<"
                    case "(": ")"
                    default: nil
                    }
                // The closing mark may be missing: then it was not a quotation.
                let closing = end.flatMap { rest.firstIndex(of: $0) }
                let words = words(of: rest[..<(closing ?? rest.endIndex)])
                guard !words.isEmpty else { continue }
                let isWhole = closing != nil && before != "("
                found.append(Mention(line: number + 1, words: words, isWhole: isWhole))
            }
        }
        return found
    }

    /// The words as a shell splits them, up to the end of the command or the sentence.
    private static func words(of text: Substring) -> [String] {
        var words: [String] = []
        var rest = text.drop { $0 == " " }
        while let first = rest.first {
            // The explanation beside it in a table.
            if rest.startIndex > text.startIndex, text[..<rest.startIndex].hasSuffix("  "),
                !words.isEmpty
            {
                break
            }
            if ";|<>()&#·\"`,:".contains(first), first != "\"" { break }
            if first == "\"" || first == "'" {
                guard let end = rest.dropFirst().firstIndex(of: first) else { break }
                words.append(String(rest[rest.index(after: rest.startIndex)..<end]))
                rest = rest[rest.index(after: end)...]
            } else {
                let word = rest.prefix { !" ;<>()\"'`,".contains($0) }
                rest = rest[word.endIndex...]
                let isLast = word.last.map { ".:!?".contains($0) } ?? true
                let bare = isLast ? word.dropLast() : word
                if !bare.isEmpty { words.append(String(bare)) }
                if isLast { break }
            }
            guard rest.first == " " else { break }
            rest = rest.drop { $0 == " " }
        }
        return words
    }

    // MARK: The tests

    @Test("the search tells a command that is wrong from one that is right")
    func search() async throws {
        let wrong = [
            #"see what it says: relayctl tail --app '#\(stuck.id)' --last 20")"#,
            "relayctl log -u relayd --since '10 minutes ago' has the reasons", "`relayctl statsu`",
            "`relayctl server sideways`", "'relayctl explain nosuch-code'", "relayctl sttaus shows",
            "<code>relayctl show all</code>",
        ]
        for text in wrong {
            let mention = try #require(Self.mentions(in: text).first)
            #expect(await Self.problem(of: mention) != nil, "\(text)")
        }
        let right = [
            #"relayctl tail --app '#\(stuck.id)' -n 20")"#, "relayctl tail shows them all",
            "\"run relayctl with sudo\"", "`relayctl explain CODE` has its page",
            "relayctl apps, stats, config    who is connected", "then: relayctl server on\" : 1",
            "relayctl status --json | jq .health", "\"$(relayctl api --print-socket)\"",
            "(`relayctl server on|off`)", "relayctl --socket \\(path) status shows it",
        ]
        for text in right {
            let mention = try #require(Self.mentions(in: text).first)
            #expect(await Self.problem(of: mention) == nil, "\(text)")
        }
    }

    /// The files that quote commands.
    private static let places = [
        "Sources", "config", "systemd", "debian", "Scripts", "Documentation", "README.md",
        "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
    ]

    @Test("every relayctl command that is quoted anywhere is one that relayctl takes")
    func everywhere() async {
        await onOwnThread {
            let root = Checkout.root
            var count = 0
            for place in Self.places {
                let path = root.appending(path: place).path
                let names = FileManager.default.subpaths(atPath: path) ?? []
                for file in names.isEmpty ? [path] : names.map({ "\(path)/\($0)" }) {
                    // Most files do not mention it, and the search is slow.
                    guard let text = try? String(contentsOfFile: file, encoding: .utf8),
                        text.contains("relayctl ")
                    else { continue }
                    for mention in Self.mentions(in: text) {
                        count += 1
                        if let problem = await Self.problem(of: mention) {
                            Issue.record(
                                "\(file):\(mention.line): relayctl \(mention.words): \(problem)")
                        }
                    }
                }
            }
            // A search that finds nothing would accept everything.
            #expect(count > 240)
        }
    }

    // MARK: relayd

    /// What is wrong with the words after "relayd"; nil if nothing is.
    private static func problem(ofRelayd words: [String]) -> String? {
        // The version of the command that the arguments belong to.
        if words == ["--version"] { return nil }
        do {
            let arguments = try Arguments.parse(words)
            guard let accessory = arguments.accessory, !accessory.contains("HOST") else {
                return nil
            }
            _ = try TransportCatalog.transport(for: AccessoryAddress(accessory))
            return nil
        } catch {
            return Arguments.exitCode(for: error) == .success ? nil : Arguments.message(for: error)
        }
    }

    /// The places in a text where options follow "relayd".
    private static func relaydMentions(in text: String) -> [Mention] {
        var found: [Mention] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated() where line.contains("relayd --")
        {
            for match in line.matches(of: #/(?:^|[ `"(])relayd (--(?:'[^']*'|[^`'#…⟦|;&])*)/#) {
                let words = Self.words(of: match.1)
                guard !words.isEmpty else { continue }
                found.append(Mention(line: number + 1, words: words, isWhole: true))
            }
        }
        return found
    }

    @Test("the search tells a command line of relayd that is wrong from one that is right")
    func searchRelayd() {
        for (text, isRight) in [
            ("relayd --accessory 'serial:/dev/ttyUSB0?baud=115200'     # or", true),
            ("`relayd --dashboard 127.0.0.1:2777`, or", true),
            ("`relayd --check-config` only checks", true), ("`relayd --version`", true),
            ("relayd --acessory sim:", false), ("relayd --accessory serail:/dev/ttyS0", false),
            ("start `relayd --listen`", false), ("relayd --accessory usb:1bc4", false),
        ] {
            let mention = Self.relaydMentions(in: text).first
            let problem = mention.map { Self.problem(ofRelayd: $0.words) }
            #expect(problem != nil && (problem == .some(nil)) == isRight, "\(text)")
        }
    }

    @Test("every command line of relayd that a page quotes is one that relayd takes")
    func relaydEverywhere() throws {
        var count = 0
        for page in try MarkdownPage.all() {
            for mention in Self.relaydMentions(in: page.text) {
                count += 1
                if let problem = Self.problem(ofRelayd: mention.words) {
                    Issue.record(
                        "\(page.path):\(mention.line): relayd \(mention.words): \(problem)")
                }
            }
        }
        #expect(count > 10)
    }
}
