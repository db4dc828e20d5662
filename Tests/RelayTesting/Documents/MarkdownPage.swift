import Foundation

// What tests look for in the committed Markdown: links, headings, code. Only what these pages use, read as
// forges read it.

/// A page of the documentation.
package struct MarkdownPage: Sendable {
    /// A fenced block.
    package struct Block: Sendable {
        /// The number of its first line of text, from 1.
        package let line: Int
        /// The word after the opening fence: "sh", or "".
        package let language: String
        package let text: String

        package init(line: Int, language: String, text: String) {
            self.line = line
            self.language = language
            self.text = text
        }
    }

    /// Something on one line.
    package struct Span: Sendable {
        package let line: Int
        package let text: String
    }

    /// Its path from the root of the repository.
    package let path: String
    package let text: String
    package let blocks: [Block]
    /// Targets of links and pictures.
    package let links: [Span]
    /// The names that a link may have after "#".
    package let anchors: Set<String>
    /// Text between single backticks; may span lines.
    package let codeSpans: [Span]

    package init(path: String, text: String) {
        self.path = path
        self.text = text
        var blocks: [Block] = []
        // The text outside of fenced blocks, line by line; lines of blocks are empty.
        var prose: [String] = []
        var fence: (line: Int, language: String, lines: [Substring])?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if let open = fence {
                prose.append("")
                if line.hasPrefix("```") {
                    blocks.append(
                        Block(
                            line: open.line, language: open.language,
                            text: open.lines.joined(separator: "\n") + "\n"))
                    fence = nil
                } else {
                    fence?.lines.append(line)
                }
            } else if line.hasPrefix("```") {
                prose.append("")
                fence = (index + 2, String(line.dropFirst(3)), [])
            } else {
                prose.append(String(line))
            }
        }
        self.blocks = blocks
        links = Self.links(in: prose)
        anchors = Self.anchors(in: prose)
        codeSpans = Self.codeSpans(in: prose)
    }

    // MARK: Parts

    private static func links(in prose: [String]) -> [Span] {
        prose.enumerated().filter { $1.contains("](") || $1.contains("=\"") }.flatMap {
            index, line in
            let text = line.replacing(#/`[^`]*`/#, with: "`")
            let targets =
                text.matches(of: #/\]\(([^)\s]+)\)/#).map { $0.1 }
                + text.matches(of: #/(?:src|href)="([^"]+)"/#).map { $0.1 }
            return targets.map { Span(line: index + 1, text: String($0)) }
        }
    }

    private static func anchors(in prose: [String]) -> Set<String> {
        var found: Set<String> = []
        for line in prose {
            guard line.hasPrefix("#"), let heading = line.wholeMatch(of: #/#{1,6} (.*)/#)
            else { continue }
            let anchor = anchor(of: String(heading.1))
            var unused = anchor
            var count = 0
            while found.contains(unused) {
                count += 1
                unused = "\(anchor)-\(count)"
            }
            found.insert(unused)
        }
        return found
    }

    static func anchor(of heading: String) -> String {
        let words = heading.replacing(#/\[([^\]]*)\]\([^)]*\)/#) { String($0.1) }
        return String(
            words.lowercased().compactMap { character -> Character? in
                if character == " " { return "-" }
                return character.isLetter || character.isNumber || "-_".contains(character)
                    ? character : nil
            })
    }

    private static func codeSpans(in prose: [String]) -> [Span] {
        var found: [Span] = []
        var paragraph: (line: Int, text: String)?
        func read(_ paragraph: (line: Int, text: String)?) {
            guard let paragraph else { return }
            for match in paragraph.text.matches(of: #/`([^`]+)`/#) {
                let before = paragraph.text[..<match.range.lowerBound]
                let line = paragraph.line + before.filter { $0 == "\n" }.count
                let text = match.1.replacing(#/\s*\n\s*/#, with: " ")
                found.append(Span(line: line, text: String(text)))
            }
        }
        for (index, line) in prose.enumerated() {
            if line.isEmpty || line.hasPrefix("|") || line.hasPrefix("- ") {
                read(paragraph)
                paragraph = nil
            }
            if line.hasPrefix("|") {
                read((index + 1, line))
            } else if let begun = paragraph {
                paragraph = (begun.line, begun.text + "\n" + line)
            } else if !line.isEmpty {
                paragraph = (index + 1, line)
            }
        }
        read(paragraph)
        return found
    }

    // MARK: All of them

    /// Every committed Markdown page; nothing that a build has made or fetched.
    package static func all() throws -> [MarkdownPage] { try committed.get() }

    /// Read once: the searches in them are slow in a debug build.
    private static let committed = Result { try read() }

    private static func read() throws -> [MarkdownPage] {
        let manager = FileManager.default
        var paths: [String] = []
        for name in try manager.contentsOfDirectory(atPath: Checkout.root.path)
        where !name.hasPrefix(".") {
            if name.hasSuffix(".md") { paths.append(name) }
            let below = manager.subpaths(atPath: Checkout.root.appending(path: name).path) ?? []
            paths += below.filter { $0.hasSuffix(".md") }.map { "\(name)/\($0)" }
        }
        // A symbolic link to a page is not a page of its own.
        let pages = paths.filter { path in
            (try? manager.destinationOfSymbolicLink(
                atPath: Checkout.root.appending(path: path).path)) == nil
        }
        return try pages.sorted().map { path in
            let text = try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
            return MarkdownPage(path: path, text: text)
        }
    }
}
