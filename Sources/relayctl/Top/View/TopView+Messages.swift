// The last messages on the screen of `top`.

extension TopView {
    func messages(_ model: TopModel, room: Int) -> [String] {
        guard room >= 1 else { return [] }
        var lines = [rule("  Messages", messageTitle(model), width: columns)]
        let shown = Self.window(model.messages, room - 1)
        let row = TailRow(layout: TailLayout(width: columns), style: style, localTime: localTime)
        for index in shown {
            let isChosen = index == model.messages.selection
            switch model.messages.rows[index] {
            case .message(let message):
                let line = row.line(message, mark: isChosen ? "›" : " ")
                lines.append(isChosen ? chosen(line) : line)
            case .old(let message):
                let line = ColouredText(row.line(message, mark: isChosen ? "›" : " "))
                lines.append(isChosen ? chosen(line.text(style)) : line.text(style, rendition: "2"))
            case .note(let words):
                let line = style(.dim, "  · \(words)")
                lines.append(isChosen ? chosen(line) : line)
            }
        }
        if shown.isEmpty { lines += emptiness(model) }
        return Array(lines.prefix(room))
    }

    private func messageTitle(_ model: TopModel) -> String {
        var parts: [String] = []
        if model.isFailedOnly { parts.append("failed only") }
        if model.messages.isPaused {
            let newer = model.messages.newer
            parts.append(newer > 0 ? "paused, \(newer) newer" : "paused")
        }
        // The filter is cut first: the rest of the line is shown nowhere else.
        let room = columns - Self.titleColumns - parts.map { $0.columns + 3 }.reduce(0, +)
        if !model.filterText.isEmpty, room > 1 {
            let filter = SafeText.line(model.filterText).shortened(to: min(room, columns / 2))
            parts.insert(filter, at: 0)
        }
        return parts.joined(separator: " · ")
    }

    /// Width of the title with nothing on its right.
    private static let titleColumns = "─ Messages ─  ──".columns

    private func emptiness(_ model: TopModel) -> [String] {
        if let refusal = model.refusal {
            return Paragraph.words(SafeText.line(refusal), used: 2, width: columns, indent: 2)
                .enumerated().map { style(.yellow, ($0 == 0 ? "  " : "") + $1) }
        }
        return [
            style(
                .dim,
                model.isNarrowed
                    ? "  no message has matched the filter yet; Esc shows all"
                    : "  no messages yet")
        ]
    }

    /// The rows to show: the newest ones, or those around the chosen one.
    private static func window(_ messages: TopMessages, _ room: Int) -> Range<Int> {
        let count = messages.rows.count
        let newest = max(0, count - room)
        let start = messages.selection.map { min(newest, max(0, $0 - room / 2)) } ?? newest
        return start..<min(count, start + room)
    }

    private func chosen(_ line: String) -> String {
        let text = ColouredText(line).text(.plain).padded(to: columns)
        return style.isOn ? style(rendition: "7", text) : ColouredText(line).text(.plain)
    }
}
