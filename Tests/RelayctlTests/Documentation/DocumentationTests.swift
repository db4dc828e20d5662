// The committed pages against the repository: links, options of commands, keys, codes, and quotations of
// relayd. `CommandBlockTests` run the blocks of commands.

import ArgumentParser
import Foundation
import RelayTesting
import SDLAdvice
import Testing

@testable import relayctl
@testable import relayd

@Suite("The documentation") struct DocumentationTests {
    private static func page(_ text: String, path: String = "Documentation/x.md") -> MarkdownPage {
        MarkdownPage(path: path, text: text)
    }

    // MARK: Links

    /// The broken links of a page.
    private static func brokenLinks(of page: MarkdownPage, among pages: [MarkdownPage]) -> [String]
    {
        let folder = URL(fileURLWithPath: "/" + page.path).deletingLastPathComponent()
        return page.links.compactMap { link in
            if link.text.hasPrefix("https://") { return nil }
            let place = "\(page.path):\(link.line)"
            if link.text.contains(":") { return "\(place): \(link.text) is no https: address" }
            let parts = link.text.split(
                separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let target =
                parts[0].isEmpty
                ? page.path
                : String(folder.appending(path: String(parts[0])).standardized.path.dropFirst())
            let file = Checkout.root.appending(path: target).path
            guard pages.contains(where: { $0.path == target }) || access(file, F_OK) == 0 else {
                return "\(place): there is no \(target)"
            }
            guard parts.count > 1 else { return nil }
            let anchors = pages.first { $0.path == target }?.anchors ?? []
            return anchors.contains(String(parts[1]))
                ? nil : "\(place): \(target) has no heading #\(parts[1])"
        }
    }

    @Test("a broken link would be found") func links() {
        let other = Self.page(
            "# Other\n## With `code`, twice\n## With `code`, twice\n", path: "a.md")
        func broken(_ text: String) -> Int {
            let page = Self.page("# Here\n" + text)
            return Self.brokenLinks(of: page, among: [page, other]).count
        }
        #expect(
            broken("[x](../a.md) [y](../a.md#with-code-twice-1) [z](#here) ![p](../README.md)") == 0
        )
        #expect(broken("[x](../b.md)") == 1)
        #expect(broken("[x](../a.md#with-code)") == 1)
        #expect(broken("[x](#there)") == 1)
        #expect(broken("<img src=\"nothing.webp\">") == 1)
        #expect(broken("[x](http://example.org/)") == 1)
        #expect(broken("`[x](../b.md)`\n```\n[x](../b.md)\n```\n") == 0)
    }

    @Test("every link leads to a file and a heading that are there") func linksResolve() throws {
        let pages = try MarkdownPage.all()
        for page in pages {
            for problem in Self.brokenLinks(of: page, among: pages) { Issue.record("\(problem)") }
        }
        // A search that finds nothing would accept everything.
        #expect(pages.count >= 18 && pages.map(\.links.count).reduce(0, +) > 100)
    }

    @Test("every page of the documentation can be reached from the README") func reachable() throws
    {
        let pages = try MarkdownPage.all()
        var reached: Set<String> = []
        var next = ["README.md"]
        while let path = next.popLast() {
            guard reached.insert(path).inserted, let page = pages.first(where: { $0.path == path })
            else { continue }
            let folder = URL(fileURLWithPath: "/" + path).deletingLastPathComponent()
            next += page.links.map { link in
                let file = String(link.text.prefix { $0 != "#" })
                return String(folder.appending(path: file).standardized.path.dropFirst())
            }
        }
        for page in pages where !page.path.hasPrefix("Tests/") {
            #expect(reached.contains(page.path), "\(page.path)")
        }
    }

    @Test("the README has at most 900 words") func readme() throws {
        let readme = try #require(try MarkdownPage.all().first { $0.path == "README.md" })
        let words = readme.text.split(whereSeparator: \.isWhitespace)
        #expect(words.count <= 900)
    }

    // MARK: Options

    /// Options of programs other than relayd's, by program.
    private static let foreign: [String: Set<String>] = [
        "journalctl": ["--file"],
        "systemd-journal-remote": ["--listen-http", "--output", "--split-mode"],
        "systemd-journal-upload": ["--url"],
        "systemctl, udevadm": ["--now", "--reload"],
        "curl": ["--unix-socket"],
        "adb": ["--list"],
        "apt": ["--yes"],
        "git": ["--sign", "--message"],
        "swift": ["--version", "--filter"],
        "bluetoothctl": ["--timeout"],
        "stress-ng": ["--cpu"],
        "openxc-dump, openxc-control": ["--serial", "--serial-port"],
    ]

    /// All options of the repository's programs.
    private static func ownOptions() throws -> Set<String> {
        var texts = [Arguments.helpMessage(includeHidden: true, columns: 200)]
        let inner = RelayCtl.commands.flatMap { $0.configuration.subcommands }
        for command in [RelayCtl.self as any ParsableCommand.Type] + RelayCtl.commands + inner {
            texts.append(RelayCtl.helpMessage(for: command, includeHidden: true, columns: 200))
        }
        for folder in ["Scripts", "Tests/System", "Sources/ControlAPI"] {
            let path = Checkout.root.appending(path: folder)
            for name in try FileManager.default.contentsOfDirectory(atPath: path.path) {
                let file = path.appending(path: name)
                guard !name.hasSuffix(".swift"), !name.hasSuffix(".md"),
                    let text = try? String(contentsOf: file, encoding: .utf8)
                else { continue }
                texts.append(text)
            }
        }
        return texts.reduce(into: ["--version", "--help"]) { $0.formUnion(options(in: $1)) }
    }

    private static func options(in text: String) -> Set<String> {
        Set(text.matches(of: #/(?:^|[^\w-])(--[a-z][a-z-]*[a-z])/#).map { String($0.1) })
    }

    @Test("every option that a page names is one of relayd's programs or of a known other one")
    func optionsExist() throws {
        let foreign = Self.foreign.values.reduce(into: Set()) { $0.formUnion($1) }
        let known = try Self.ownOptions().union(foreign)
        #expect(known.isSuperset(of: ["--accessory", "--socket", "--keep", "--check-mallocs"]))
        #expect(Self.options(in: "`relayd --acessory sim:`").isDisjoint(with: known))
        var used: Set<String> = []
        for page in try MarkdownPage.all() {
            let named = Self.options(in: page.text)
            used.formUnion(named)
            #expect(named.subtracting(known).sorted() == [], "\(page.path)")
        }
        #expect(foreign.subtracting(used).sorted() == [], "no page names them any more")
    }

    // MARK: Keys and codes

    @Test("every key of the configuration that a page names is one") func keysExist() throws {
        let known = Set(ConfigSchema().options.map(\.path))
        var count = 0
        for page in try MarkdownPage.all() where page.path != "CHANGELOG.md" {
            for span in page.codeSpans {
                let key = span.text.prefix { $0 != ":" && $0 != " " }
                guard
                    key.wholeMatch(
                        of: #/(apps|sessions|limits|log|record|control|dashboard|openxc)\.[a-z_]+/#)
                        != nil,
                    // A limit that no option sets, and the name of a file.
                    key != "apps.pending_starts", key != "openxc.proto"
                else { continue }
                count += 1
                #expect(known.contains(String(key)), "\(page.path):\(span.line): \(span.text)")
            }
        }
        #expect(count > 80)
    }

    @Test("every block of YAML is a configuration that relayd takes") func yaml() throws {
        for page in try MarkdownPage.all() {
            for block in page.blocks where block.language == "yaml" {
                #expect(throws: Never.self, "\(page.path):\(block.line)") {
                    _ = try Config.decode(block.text, file: page.path)
                }
            }
        }
    }

    @Test("every code that a page names is one of advice or of the API") func codesExist() throws {
        let pages = try MarkdownPage.all()
        let api = try #require(pages.first { $0.path == "Sources/ControlAPI/API.md" })
        var known = Set(api.codeSpans.map(\.text)).union(AdviceCode.allCases.map(\.rawValue))
        for option in ConfigSchema().options {
            known.formUnion(option.path.split(separator: ".").map(String.init))
        }
        // Names from the protocol notes and the source.
        known.formUnion(["ENV{ID_MM_DEVICE_IGNORE}", "is_media", "head_unit"])
        // Names of pcapng and of traces.
        known.formUnion([
            "shb_os", "shb_userappl", "if_name", "if_description", "if_tsresol", "epb_flags",
            "session_ended", "stopped_sending", "stopped_reading", "fell_behind", "message_ended",
            "heartbeat_answered", "start_sent", "service_ended",
        ])
        // Names of OpenXC.
        known.formUnion(["payload_format", "diagnostic_request"])
        var count = 0
        for page in pages where page.path.hasPrefix("Documentation/") {
            for span in page.codeSpans
            where span.text.wholeMatch(of: #/[a-z]+(_[a-z]+)+/#) != nil {
                count += 1
                #expect(known.contains(span.text), "\(page.path):\(span.line): \(span.text)")
            }
        }
        #expect(count > 15)
    }

    // MARK: Quotations of relayd

    /// The pages that quote relayd.
    private static let quoting: Set = [
        "README.md", "Documentation/connect-your-app.md", "Documentation/connect-your-head-unit.md",
        "Documentation/other-systems.md", "Documentation/troubleshooting.md",
        "Documentation/security.md", "Documentation/dashboard.md", "Documentation/service.md",
    ]

    /// First words of text that is not a quotation of relayd: other programs' messages, and commands to type.
    private static let notQuoted: Set = [
        "relayctl", "relayd", "sudo", "ssh", "systemctl", "journalctl", "adb", "swift", "plink",
        "HOST", "systemd-analyze", "apt", "bluetoothctl", "rfkill", "git", "tar", "ss", "openssl",
        "TCP", "Failed",
    ]

    /// Names in the examples, and words that a sentence takes from elsewhere.
    private static let examples: Set = [
        "ann", "ModemManager", "ufw", "firewalld", "rpc", "uid", "acessory:",
    ]

    /// relayd's sentences, as they are written in its sources.
    private static let sentences: [CChar] = {
        let sources = Checkout.root.appending(path: "Sources")
        var all = ""
        for path in FileManager.default.subpaths(atPath: sources.path) ?? []
        where [".swift", ".js"].contains(where: path.hasSuffix)
            && !path.hasSuffix("+Generated.swift")
        {
            guard let text = try? String(contentsOf: sources.appending(path: path), encoding: .utf8)
            else { continue }
            all +=
                text.replacing(#/(?m)^\s*\/\/.*$/#, with: "")
                // Interpolations, whose value only the running program knows.
                .replacing(#/\\\([^()]*(\([^()]*(\([^()]*\)[^()]*)*\)[^()]*)*\)/#, with: "\u{1}")
                // A sentence that continues on further lines.
                .replacing(#/"\s*\+\s*"/#, with: "")
                .replacing(#/\\\n\s*/#, with: "")
                .replacing("\\\"", with: "\"") + "\n"
        }
        return Array(all.utf8CString)
    }()

    private static func says(_ words: ArraySlice<Substring>) -> Bool {
        strstr(sentences, words.joined(separator: " ")) != nil
    }

    /// The part of a quotation that relayd does not say; nil when it says all of it, apart from words that
    /// vary.
    private static func unsaid(_ quotation: String) -> String? {
        var run: [Substring] = []
        var runs: [[Substring]] = []
        for word in quotation.split(separator: " ") {
            let isPlain =
                word.wholeMatch(of: #/[(]?[\p{L}'’/\-]+[)]?[,;:.]?/#) != nil
                && word != word.uppercased() && !examples.contains(String(word))
            if isPlain {
                run.append(word)
            } else {
                runs.append(run)
                run = []
            }
        }
        runs.append(run)
        for run in runs where run.count > 1 {
            // Matches the longest run of words that one sentence contains, again and again, at least two words
            // at a time. Next to a varying word, one more word may vary.
            var index = 0
            while index < run.count - 1 {
                let end = (index + 1..<run.count).last { says(run[index...$0]) }
                if end == nil, index > 0 || run.count == 2 {
                    return run[index...].joined(separator: " ")
                }
                if end == nil, !(2..<run.count).contains(where: { says(run[1...$0]) }) {
                    return run.joined(separator: " ")
                }
                index = end.map { $0 + 1 } ?? 1
            }
        }
        return nil
    }

    @Test("what relayd does not say would be found") func unsaidWords() {
        #expect(Self.unsaid("nothing listens on 192.168.1.20:12345") == nil)
        #expect(
            Self.unsaid(
                "/dev/ttyUSB0 belongs to root:dialout with mode 0660; user ann may not open it")
                == nil)
        #expect(Self.unsaid("nobody hears on 192.168.1.20:12345") != nil)
        #expect(Self.unsaid("the head unit has gone home") != nil)
    }

    @Test("what relayd is said to print stands in its sources") func quotations() throws {
        var count = 0
        for page in try MarkdownPage.all() where Self.quoting.contains(page.path) {
            for span in page.codeSpans {
                let words = span.text.split(separator: " ")
                let plain = words.filter { $0.wholeMatch(of: #/[\p{L}'\-]+[,;:.]?/#) != nil }
                guard plain.count >= 3, let first = words.first, !span.text.contains("  "),
                    !Self.notQuoted.contains(String(first.prefix { $0 != "=" && $0 != "/" })),
                    !first.hasPrefix("Scripts/"), !span.text.contains("=\""),
                    !span.text.hasPrefix("--")
                else { continue }
                count += 1
                if let unsaid = Self.unsaid(span.text) {
                    Issue.record(
                        "\(page.path):\(span.line): relayd nowhere says \"\(unsaid)\": \(span.text)"
                    )
                }
            }
        }
        #expect(count > 60)
    }

    // MARK: Tests and places

    /// The text of the files that contain each suite.
    private static func suites() throws -> [String: String] {
        let tests = Checkout.root.appending(path: "Tests")
        var found: [String: String] = [:]
        for path in FileManager.default.subpaths(atPath: tests.path) ?? []
        where path.hasSuffix(".swift") {
            let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
            for match in text.matches(of: #/(?:struct|class|extension) (\w+Tests)\b/#) {
                found[String(match.1), default: ""] += text
            }
        }
        return found
    }

    @Test("every test that a page names is there") func testsExist() throws {
        let suites = try Self.suites()
        var count = 0
        for page in try MarkdownPage.all() where page.path != "CHANGELOG.md" {
            var last: (suite: String, line: Int)?
            for span in page.codeSpans {
                guard let name = span.text.wholeMatch(of: #/(\w+Tests)?(?:\.(\w+))?/#) else {
                    continue
                }
                if let suite = name.1 { last = (String(suite), span.line) }
                // ".name" alone is a test of the suite named before it.
                guard let (suite, line) = last, span.line <= line + 1 else { continue }
                count += 1
                let isTarget =
                    access(Checkout.root.appending(path: "Tests/\(suite)").path, F_OK) == 0
                guard let text = suites[suite] ?? (isTarget ? "" : nil) else {
                    Issue.record("\(page.path):\(span.line): there is no \(suite)")
                    continue
                }
                if let test = name.2 {
                    #expect(text.contains("func \(test)("), "\(page.path):\(span.line): \(suite)")
                }
            }
        }
        #expect(count > 120)
    }

    @Test("every file of the repository that a page names is there") func filesExist() throws {
        var count = 0
        for page in try MarkdownPage.all() where page.path != "CHANGELOG.md" {
            for span in page.codeSpans {
                let path = String(span.text.prefix { $0 != " " })
                guard
                    path.wholeMatch(
                        of:
                            #/(Benchmarks|Documentation|Scripts|Sources|Tests|config|debian|systemd)\/[\w.+\/-]+/#
                    )
                        != nil
                else { continue }
                count += 1
                let file = Checkout.root.appending(path: path).path
                #expect(access(file, F_OK) == 0, "\(page.path):\(span.line): \(path)")
            }
        }
        #expect(count > 60)
    }

    // MARK: Notices

    @Test("the third-party notices name every package that is built in, and no other")
    func notices() throws {
        let root = Checkout.root
        let page = try String(
            contentsOf: root.appending(path: "Documentation/third-party.md"), encoding: .utf8)
        let data = try Data(contentsOf: root.appending(path: "Package.resolved"))
        let resolved = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let pins = try #require(resolved["pins"] as? [[String: Any]])
        let rows = page.matches(of: #/(?m)^\| \[(swift-[a-z-]+)\]/#).map { String($0.1) }
        #expect(Set(rows) == Set(pins.compactMap { $0["identity"] as? String }))
        #expect(!rows.isEmpty)
    }
}
