import ControlAPI

/// A screen of `top`: its rows, and where the cursor is.
struct TopFrame: Sendable {
    /// Lines with the escape sequences of `Style`; they fit the screen in both directions.
    var lines: [String]
    /// Row and column; nil unless the user is typing.
    var cursor: (row: Int, column: Int)?
    /// How far a page can be scrolled down.
    var lastOffset = 0
}

/// `relayctl top` as lines: a pure function of the model, the size of the screen and the style.
///
/// From top to bottom: the head unit, apps, RPCs, advice, the last messages, keys. Small screens have less
/// of each; wide ones have apps and RPCs side by side.
struct TopView: Sendable {
    let rows: Int
    let columns: Int
    let style: Style
    var localTime = LocalTime.system

    /// Smaller screens only show a message saying so.
    static let fewestRows = 10
    static let fewestColumns = 40
    /// From this width on apps and RPCs are shown side by side.
    private static let wideColumns = 140

    func frame(_ model: TopModel, now: Timestamp) -> TopFrame {
        guard rows >= Self.fewestRows, columns >= Self.fewestColumns else { return tooSmall }
        var frame: TopFrame
        switch model.focus {
        case .page(let page): frame = self.page(page, model, now)
        case .list: frame = list(model, now, foot: TopFrame(lines: [keys]))
        case .filter(let line): frame = list(model, now, foot: prompt(line))
        }
        frame.lines = frame.lines.prefix(rows).map(cut)
        return frame
    }

    private var tooSmall: TopFrame {
        let words = [
            "\(columns)×\(rows) is too small:",
            "top needs \(Self.fewestColumns)×\(Self.fewestRows)",
            "q quits",
        ]
        return TopFrame(lines: words.prefix(rows).map { $0.shortened(to: columns) })
    }

    // MARK: The list

    private func list(_ model: TopModel, _ now: Timestamp, foot: TopFrame) -> TopFrame {
        let head = head(model, now)
        let room = rows - head.count - foot.lines.count
        let tables = tables(model, now, room: room * 11 / 20)
        var lines = head + tables
        lines += messages(model, room: room - tables.count)
        lines += Array(repeating: "", count: max(0, rows - foot.lines.count - lines.count))
        var frame = TopFrame(lines: lines + foot.lines, cursor: foot.cursor)
        frame.cursor?.row += lines.count
        return frame
    }

    // MARK: Head unit and apps in short

    private func head(_ model: TopModel, _ now: Timestamp) -> [String] {
        guard let status = model.status else { return absence(model, now) }
        let text = StatusText(
            layout: TextLayout(width: columns, style: style, now: now, localTime: localTime))
        // One line when all is well, with "since" in it if there is room. Problems may take more lines, but
        // not the whole screen.
        var lines = Array(text.accessory(status.accessory).prefix(max(2, rows / 4)))
        let since = lines.count > 1 ? ColouredText(lines[1]).text(.plain) : ""
        if since.drop(while: { $0 == " " }).hasPrefix("since ") { lines.remove(at: 1) }
        if status.server.state != .listening { lines += text.server(status.server).prefix(2) }
        lines.append(line(text.apps(status)[0], traffic(model.rates)))
        if status.link.paused {
            lines.append(
                style(.yellow, "apps are held back: the head unit takes bytes too slowly"))
        }
        return lines
    }

    private func absence(_ model: TopModel, _ now: Timestamp) -> [String] {
        guard let gone = model.gone else { return ["asking relayd …"] }
        let age = Units.duration(seconds: now.seconds(since: gone.since))
        return [
            style(.bold, "relayd       ") + style(.red, SafeText.line(gone.words)) + " for \(age)",
            "             waiting for it to come back",
        ]
    }

    private func traffic(_ rates: TopRates) -> String {
        guard let from = rates.bytesFromHeadUnit, let to = rates.bytesToHeadUnit else { return "" }
        let words = "← \(Self.rate(bytes: from))  → \(Self.rate(bytes: to))"
        return columns < 80 ? words : "head unit \(words)"
    }

    // MARK: Apps, RPCs, advice

    private func tables(_ model: TopModel, _ now: Timestamp, room: Int) -> [String] {
        guard let status = model.status else { return [] }
        let advice = advice(model, status, now, room: room)
        let left = room - advice.count
        let calls = model.rates.calls
        if columns >= Self.wideColumns, !calls.isEmpty {
            let half = columns / 2 - 1
            let lines = beside(
                apps(model, status, room: left, width: half),
                self.calls(calls, model, room: left, width: columns - half - 2), at: half + 2)
            return lines + advice
        }
        let wanted = 1 + max(1, status.apps.count)
        // Each table may use space that the other does not need.
        let forCalls = min(1 + calls.count, max(left / 2, left - wanted))
        let apps = apps(
            model, status, room: calls.isEmpty || forCalls < 2 ? left : left - forCalls,
            width: columns)
        return apps
            + self.calls(calls, model, room: left - apps.count, width: columns) + advice
    }

    private func beside(_ left: [String], _ right: [String], at column: Int) -> [String] {
        (0..<max(left.count, right.count)).map { row in
            let first = row < left.count ? left[row] : ""
            let second = row < right.count ? right[row] : ""
            return padded(first, to: column) + second
        }
    }
}
