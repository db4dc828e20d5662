// The building blocks of the screen of `top`: headings, padding, rates and times.

extension TopView {
    /// A heading as a ruled line of this width; blanks between its words become part of the rule.
    func rule(_ heading: String, _ right: String = "", width: Int) -> String {
        let right = right.isEmpty ? "" : " \(right) ──"
        let room = width - right.columns
        let text = heading.shortened(to: room).padded(to: room)
        var line = ""
        var blanks = 0
        var word = ""
        func dashes(_ count: Int, atStart: Bool, atEnd: Bool) -> String {
            let spaces = (atStart ? 0 : 1) + (atEnd ? 0 : 1)
            guard count > spaces else { return String(repeating: " ", count: count) }
            return (atStart ? "" : " ")
                + style(.dim, String(repeating: "─", count: count - spaces)) + (atEnd ? "" : " ")
        }
        for character in text {
            guard character != " " else {
                blanks += 1
                continue
            }
            if blanks == 1, !word.isEmpty {
                word += " "
            } else if blanks > 0 {
                line += style(.bold, word)
                line += dashes(blanks, atStart: line.isEmpty, atEnd: false)
                word = ""
            }
            blanks = 0
            word.append(character)
        }
        line += style(.bold, word)
        if blanks > 0 { line += dashes(blanks, atStart: false, atEnd: true) }
        guard !right.isEmpty else { return line }
        return line + style(.bold, String(right.dropLast(2))) + style(.dim, "──")
    }

    /// Both parts side by side; the right one is left out where there is no room for both.
    func line(_ left: String, _ right: String) -> String {
        let room = columns - right.columns
        return ColouredText(left).columns + 2 <= room ? padded(left, to: room) + right : left
    }

    func padded(_ line: String, to width: Int) -> String {
        line + String(repeating: " ", count: max(0, width - ColouredText(line).columns))
    }

    func cut(_ line: String) -> String {
        var text = ColouredText(line).shortened(to: columns).text(style)
        while text.last == " " { text.removeLast() }
        return text
    }

    static func look(ofLevel level: String?) -> String {
        switch level {
        case "FULL": "32"
        case "NONE": "2"
        default: ""
        }
    }

    static func time(_ milliseconds: Double?) -> String {
        milliseconds.map { Units.latency(milliseconds: $0) } ?? "–"
    }

    /// "12/s", "0.4/s", "0".
    static func rate(_ perSecond: Double?) -> String {
        guard let perSecond else { return "–" }
        if perSecond >= 9.95 { return "\(Int(min(perSecond.rounded(), 1e15)))/s" }
        let tenths = Int((perSecond * 10).rounded(.up))
        if tenths == 0 { return "0" }
        return tenths % 10 == 0 ? "\(tenths / 10)/s" : "\(tenths / 10).\(tenths % 10)/s"
    }

    static func rate(bytes: Double) -> String {
        Units.bytes(Int(min(bytes.rounded(), 1e15))) + "/s"
    }
}
