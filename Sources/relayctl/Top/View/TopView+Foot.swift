// The last lines of `top`: the keys, or the filter while it is being typed.

extension TopView {
    private static let keys = [
        ("/", "filter"), ("p", "pause"), ("f", "failed"), ("↑↓", "choose"), ("Enter", "open"),
        ("a", "advice"), ("?", "help"), ("q", "quit"),
    ]

    /// As many keys as fit; help and quit always.
    var keys: String {
        func line(_ keys: [(String, String)]) -> String {
            " " + keys.map { style(.bold, $0) + " " + $1 }.joined(separator: "  ")
        }
        var keys = Array(Self.keys.dropLast(2))
        let last = Array(Self.keys.suffix(2))
        while !keys.isEmpty, ColouredText(line(keys + last)).columns > columns {
            keys.removeLast()
        }
        return line(keys + last)
    }

    func prompt(_ line: TopFilterLine) -> TopFrame {
        // Of a text that is too long, the part that ends at the cursor is shown.
        var start = 0
        let room = columns - 3
        func shown(_ range: Range<Int>) -> String { SafeText.line(String(line.letters[range])) }
        // A binary search, because a filter may have 1000 letters.
        var fitting = line.cursor
        while start < fitting {
            let middle = (start + fitting) / 2
            if shown(middle..<line.cursor).columns > room {
                start = middle + 1
            } else {
                fitting = middle
            }
        }
        let text = shown(start..<line.letters.count).shortened(to: room)
        let prompt = style(.bold, "/") + text
        let cursor = 1 + shown(start..<line.cursor).columns
        guard let problem = line.problem else {
            let hint = "Enter applies it, Esc does not; empty shows all; 'app:radio rpc:On* !ok'"
            return TopFrame(
                lines: [prompt, style(.dim, " \(hint)".shortened(to: columns))], cursor: (0, cursor)
            )
        }
        let range = max(start, problem.range.lowerBound)..<max(start, problem.range.upperBound)
        let marks = String(repeating: "^", count: max(1, shown(range).columns))
        let before = String(repeating: " ", count: 1 + shown(start..<range.lowerBound).columns)
        var words = Paragraph.words(
            SafeText.line(problem.words), used: 1, width: columns, indent: 1)
        words[0] = " " + words[0]
        return TopFrame(
            lines: [prompt, style(.red, before + marks)]
                + words.prefix(2).map { style(.red, $0) }, cursor: (0, cursor))
    }
}
