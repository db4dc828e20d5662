/// Text with relayd's colours, which can be measured and cut. Made from the output of `SafeText.line`.
struct ColouredText: Sendable, Equatable {
    /// A run of text in one rendition (ECMA-48, "8.3.117"); "" is none.
    struct Run: Sendable, Equatable {
        fileprivate(set) var rendition: String
        fileprivate(set) var text: String
    }
    private(set) var runs: [Run] = []

    init(_ text: String) {
        guard text.utf8.contains(0x1B) else {
            add(text, "")
            return
        }
        var rendition = ""
        var run = String.UnicodeScalarView()
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "\u{1B}" else {
                run.append(scalar)
                continue
            }
            add(String(run), rendition)
            run = .init()
            rendition = ""
            while let next = scalars.next(), next != "m" {
                if next != "[" { rendition.unicodeScalars.append(next) }
            }
            if rendition == "0" { rendition = "" }
        }
        add(String(run), rendition)
    }

    private mutating func add(_ text: String, _ rendition: String) {
        if !text.isEmpty { runs.append(Run(rendition: rendition, text: text)) }
    }

    static func + (left: ColouredText, right: ColouredText) -> ColouredText {
        var both = left
        both.runs += right.runs
        return both
    }

    var isEmpty: Bool { runs.isEmpty }
    /// Columns on a terminal.
    var columns: Int { runs.reduce(0) { $0 + $1.text.columns } }

    /// The text after `word` and the spaces that follow it, if it starts with that word.
    func dropping(first word: String) -> ColouredText {
        guard let first = runs.first, first.text.hasPrefix(word) else { return self }
        let behind = first.text.dropFirst(word.count)
        guard behind.first ?? " " == " " else { return self }
        var rest = self
        rest.runs[0].text = String(behind)
        if behind.isEmpty { rest.runs.removeFirst() }
        if let next = rest.runs.first { rest.runs[0].text = String(next.text.drop { $0 == " " }) }
        return rest
    }

    /// At most `width` columns, the end replaced by "…".
    func shortened(to width: Int) -> ColouredText {
        guard columns > width else { return self }
        guard width > 0 else { return ColouredText("") }
        var short = ColouredText("")
        var left = width - 1
        for run in runs {
            let columns = run.text.columns
            guard columns > left else {
                short.runs.append(run)
                left -= columns
                continue
            }
            short.add(run.text.prefix(columns: left) + "…", run.rendition)
            break
        }
        return short
    }

    /// Lines of at most `width` columns, broken where a line is full; at least one line.
    func wrapped(to width: Int) -> [ColouredText] {
        guard columns > width, width > 1 else { return [self] }
        var lines = [ColouredText("")]
        var left = width
        for run in runs {
            var rest = run.text[...]
            while !rest.isEmpty {
                var part = String(rest).prefix(columns: left)
                // The character is wider than a whole line.
                if part.isEmpty, left == width { part = String(rest.prefix(1)) }
                lines[lines.count - 1].add(part, run.rendition)
                rest = rest.dropFirst(part.count)
                left -= part.columns
                guard !rest.isEmpty else { break }
                lines.append(ColouredText(""))
                left = width
            }
        }
        return lines
    }

    /// The whole text in this rendition.
    func text(_ style: Style, rendition: String) -> String {
        style(rendition: rendition, runs.map(\.text).joined())
    }

    func text(_ style: Style) -> String {
        runs.map { style(rendition: $0.rendition, $0.text) }.joined()
    }
}
