// Pages that fill the screen of `top`: one message, all advice, help.

import ControlAPI

extension TopView {
    func page(_ page: TopPage, _ model: TopModel, _ now: Timestamp) -> TopFrame {
        let (title, lines) = contents(page.content, model, now)
        let room = rows - 2
        let last = max(0, lines.count - room)
        let start = min(page.offset, last)
        let shown = lines[start..<min(lines.count, start + room)]
        let place =
            last == 0 ? "" : "lines \(start + 1) to \(start + shown.count) of \(lines.count)"
        var frame = TopFrame(lines: [rule("  \(title)", place, width: columns)] + shown)
        frame.lines += Array(repeating: "", count: max(0, rows - 1 - frame.lines.count))
        let keys = [last == 0 ? nil : ("↑↓", "scroll"), ("Esc", "back")].compactMap { $0 }
        frame.lines.append(
            " " + keys.map { style(.bold, $0) + " " + $1 }.joined(separator: "  "))
        frame.lastOffset = last
        return frame
    }

    private func contents(
        _ content: TopPage.Content, _ model: TopModel, _ now: Timestamp
    ) -> (title: String, lines: [String]) {
        let layout = TextLayout(width: columns, style: style, now: now, localTime: localTime)
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
        switch content {
        case .help: return ("Help", wrapped(lines(Self.help)))
        case .advice:
            let text = AdviceText(layout: layout).advice(model.advice)
            return ("Advice", wrapped(lines(text).dropLast()))
        case .loading(let number): return ("Message \(number)", ["  asking relayd …"])
        case .words(let number, let words):
            return ("Message \(number)", wrapped(["  \(SafeText.line(words))"]))
        case .message(let number, let whole):
            let text =
                MessageText(layout: layout).lines(whole) ?? ["relayd's answer is not understood"]
            return ("Message \(number)", wrapped(text))
        }
    }

    private func wrapped(_ lines: [String]) -> [String] {
        lines.flatMap { ColouredText($0).wrapped(to: columns).map { $0.text(style) } }
    }
}
