import ControlAPI

/// A screen of `top`: what stands in each row, and where the cursor is.
struct TopFrame: Sendable {
    /// With the escape sequences of `Style`; none is wider than the screen, nor are there more than rows.
    var lines: [String]
    /// Row and column, while somebody types.
    var cursor: (row: Int, column: Int)?
    /// Of a page: the first line may be this one at most.
    var lastOffset = 0
}

/// `relayctl top` as lines: a pure function of what the model knows, the size of the screen and the style.
///
/// From top to bottom: the head unit, apps, RPCs, advice, the last messages, keys. Small screens have less
/// of each; wide ones have apps and RPCs side by side.
struct TopView: Sendable {
    let rows: Int
    let columns: Int
    let style: Style
    var localTime = LocalTime.system

    /// On smaller screens there is nothing to be seen.
    static let fewestRows = 10
    static let fewestColumns = 40
    /// From here on apps and RPCs have room beside each other.
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
        // One line where all is well, so that since when is told if there is room. What is wrong takes
        // more, but not the screen.
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
        // Each has what the other does not need.
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

    private func apps(
        _ model: TopModel, _ status: StatusSnapshot, room: Int, width: Int
    ) -> [String] {
        guard room >= 2 else { return [] }
        var apps = status.apps[...]
        let isCut = apps.count > room - 1
        if isCut { apps = apps.prefix(room - 2) }
        let rows = apps.map { Row(app: $0, model, status) }
        func cells(_ cell: (Row) -> String) -> [String] { rows.map(cell) }
        let table = Table([
            .init("#", cells { "\($0.app.id)" }, alignRight: true, minimum: 2),
            .init(
                "App", cells(\.name), minimum: 16,
                renditions: cells { Style.rendition(colourOf: $0.app.id) }),
            .init(
                "HMI", cells { $0.app.hmiLevel.map(SafeText.clean) ?? "–" }, minimum: 10,
                renditions: cells { Self.look(ofLevel: $0.app.hmiLevel) }),
            .init("From app", cells { Self.rate($0.rpcs?.fromApp) }, alignRight: true),
            .init("To app", cells { Self.rate($0.rpcs?.toApp) }, alignRight: true, minimum: 6),
            .init(
                "Traffic", cells { $0.bytes.map(Self.rate(bytes:)) ?? "–" }, alignRight: true,
                minimum: 12),
            .init("p50", cells { Self.time($0.times?.p50) }, alignRight: true, minimum: 7),
            .init("p95", cells { Self.time($0.times?.p95) }, alignRight: true, minimum: 7),
            .init(
                "Queue", cells { $0.app.queueBytes > 0 ? Units.bytes($0.app.queueBytes) : "–" },
                alignRight: true, renditions: cells { $0.app.queueBytes > 0 ? "33" : "" }),
        ]).fitted(
            to: width,
            [
                .dropIfAll("Queue", "–"), .shorten("App", to: 16), .drop("#"),
                .shorten("App", to: 12), .drop("p50"), .shorten("HMI", to: 7), .drop("Traffic"),
                .drop("p95"), .shorten("App", to: 8), .drop("Queue"),
            ])
        var lines = [rule(table.heading, width: width)] + table.rows(style)
        if status.apps.isEmpty { lines.append(style(.dim, "  no app is connected")) }
        if isCut {
            lines.append(
                style(.dim, "  and \(Units.count(status.apps.count - apps.count, "more app"))"))
        }
        return lines
    }

    /// An app with its numbers.
    private struct Row {
        let app: AppStatus
        let name: String
        var rpcs: TopRates.Messages?
        var bytes: Double?
        var times: TopLatencies.Quantiles?

        init(app: AppStatus, _ model: TopModel, _ status: StatusSnapshot) {
            self.app = app
            name = SafeText.clean(StatusText.appName(app))
            bytes = model.rates.bytes(ofApp: app.id)
            // Counted by name: what several share is nobody's.
            guard let counted = app.appName,
                status.apps.count(where: { $0.appName == counted }) == 1
            else { return }
            rpcs = model.rates.messages(ofApp: counted)
            times = model.latencies.quantiles(app: SafeText.clean(counted))
        }
    }

    private func calls(
        _ calls: [TopRates.Call], _ model: TopModel, room: Int, width: Int
    ) -> [String] {
        guard room >= 2, !calls.isEmpty else { return [] }
        // Of all of them, so that columns stay where they are while rows change places.
        func cells(_ cell: (TopRates.Call) -> String) -> [String] { calls.map(cell) }
        func times(_ time: (TopLatencies.Quantiles) -> Double) -> [String] {
            cells { call in
                let app = call.app == "unregistered" ? "" : SafeText.clean(call.app)
                let times = model.latencies.quantiles(
                    app: app, function: SafeText.clean(call.function))
                return Self.time(times.map(time))
            }
        }
        let table = Table([
            .init("RPC", cells { SafeText.clean($0.function) }, minimum: 22),
            .init("App", cells { StatsText.name(app: SafeText.clean($0.app)) }, minimum: 12),
            .init("Rate", cells { Self.rate($0.perSecond) }, alignRight: true, minimum: 6),
            .init("p50", times(\.p50), alignRight: true, minimum: 7),
            .init("p95", times(\.p95), alignRight: true, minimum: 7),
            .init("Count", cells { "\($0.count)" }, alignRight: true, minimum: 7),
            .init(
                "Failed", cells { "\($0.failed)" }, alignRight: true,
                renditions: cells { $0.isFailing ? "31" : "" }),
        ]).fitted(
            to: width,
            [
                .drop("Count"), .shorten("App", to: 16), .shorten("RPC", to: 20), .drop("p50"),
                .shorten("App", to: 8), .shorten("RPC", to: 14), .drop("App"), .drop("p95"),
            ])
        return [rule(table.heading, width: width)] + table.rows(style).prefix(room - 1)
    }

    /// What is wrong now, newest first: a line each, and what to do about it.
    private func advice(
        _ model: TopModel, _ status: StatusSnapshot, _ now: Timestamp, room: Int
    ) -> [String] {
        let current = model.advice.filter { $0.isCurrentWarning(at: now) }
        guard !current.isEmpty, room >= 6 else { return [] }
        var lines: [String] = []
        for advice in current {
            let app = advice.appName.map(SafeText.clean) ?? advice.app.map { "app \($0)" }
            let times = advice.count > 1 ? "×\(advice.count)  " : ""
            let words = "\(app.map { "\($0): " } ?? "")\(SafeText.line(advice.text))"
            lines.append(
                style(.dim, "  \(localTime.timeOfDay(advice.lastAt))  ")
                    + style(.yellow, "\(times)\(words)"))
            lines.append(
                "            → \(SafeText.line(advice.remedy))  (\(SafeText.clean(advice.code)))")
        }
        let title = "  Advice (\(current.count))"
        return [rule(title, "a shows it whole", width: columns)]
            + lines.prefix(max(2, room / 3 - 1))
    }

    // MARK: Messages

    private func messages(_ model: TopModel, room: Int) -> [String] {
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
        // The filter is cut first: what stands behind it is told nowhere else.
        let room = columns - Self.titleColumns - parts.map { $0.columns + 3 }.reduce(0, +)
        if !model.filterText.isEmpty, room > 1 {
            let filter = SafeText.line(model.filterText).shortened(to: min(room, columns / 2))
            parts.insert(filter, at: 0)
        }
        return parts.joined(separator: " · ")
    }

    /// Of the title of the messages without what stands on its right.
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
                    ? "  nothing so far that the filter lets through; Esc shows all"
                    : "  no message so far")
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

    // MARK: The last lines

    private static let keys = [
        ("/", "filter"), ("p", "pause"), ("f", "failed"), ("↑↓", "choose"), ("Enter", "open"),
        ("a", "advice"), ("?", "help"), ("q", "quit"),
    ]

    /// As many as fit; how to learn the others, and how to leave, always.
    private var keys: String {
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

    private func prompt(_ line: TopFilterLine) -> TopFrame {
        // What is shown of a text that is too long ends behind the cursor.
        var start = 0
        let room = columns - 3
        func shown(_ range: Range<Int>) -> String { SafeText.line(String(line.letters[range])) }
        // By halves, because a filter may have 1000 letters.
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

    // MARK: Pages

    private func page(_ page: TopPage, _ model: TopModel, _ now: Timestamp) -> TopFrame {
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

    private static let help = """
        /         filter the messages: app:radio rpc:On* !ok
                  ms>200 text:"Keep right"; empty shows all
        f         only what went wrong
        p, space  hold the list of messages, or let it go on
        ↑ ↓ j k   choose a message; the list is held
        PgUp PgDn Home End
                  the same in larger steps; End goes on
        Enter     open the chosen message, or the newest one
        a         all advice, with what helps
        Esc       back: from a page, a chosen message, a filter
        ^L        draw the screen anew
        q         quit

        →  from the app           ✓  the request was successful
        ←  from the head unit     ✗  it failed, and why
        ·  from relayd

        From app and To app are RPCs per second, Rate is
        requests or notifications per second, each of the last
        5 seconds. p50 and p95: 50 and 95 percent of the
        answers of the last minute took at most so long. Those
        that wait for a person (Alert, Speak, …) are not in
        the app's. Queue is what the app reads too slowly.
        Failed and Count are since relayd started.
        """

    // MARK: Pieces

    /// A heading in a line through the whole width; blanks between its words become the line.
    private func rule(_ heading: String, _ right: String = "", width: Int) -> String {
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

    /// What is on the right is left out where there is no room for both.
    private func line(_ left: String, _ right: String) -> String {
        let room = columns - right.columns
        return ColouredText(left).columns + 2 <= room ? padded(left, to: room) + right : left
    }

    private func padded(_ line: String, to width: Int) -> String {
        line + String(repeating: " ", count: max(0, width - ColouredText(line).columns))
    }

    private func cut(_ line: String) -> String {
        var text = ColouredText(line).shortened(to: columns).text(style)
        while text.last == " " { text.removeLast() }
        return text
    }

    private static func look(ofLevel level: String?) -> String {
        switch level {
        case "FULL": "32"
        case "NONE": "2"
        default: ""
        }
    }

    private static func time(_ milliseconds: Double?) -> String {
        milliseconds.map { Units.latency(milliseconds: $0) } ?? "–"
    }

    /// "12/s", "0.4/s", "0".
    private static func rate(_ perSecond: Double?) -> String {
        guard let perSecond else { return "–" }
        if perSecond >= 9.95 { return "\(Int(min(perSecond.rounded(), 1e15)))/s" }
        let tenths = Int((perSecond * 10).rounded(.up))
        if tenths == 0 { return "0" }
        return tenths % 10 == 0 ? "\(tenths / 10)/s" : "\(tenths / 10).\(tenths % 10)/s"
    }

    private static func rate(bytes: Double) -> String {
        Units.bytes(Int(min(bytes.rounded(), 1e15))) + "/s"
    }
}
