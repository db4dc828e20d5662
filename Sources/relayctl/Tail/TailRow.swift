import ControlAPI

/// Formats one message as one line: number, time, app, a sign, RPC, content, size and latency. A pure
/// function of the message, the columns and the style.
///
///        17 05:17:36.902 Radio Südwes… ✗ PutFile   INVALID_DATA  "the request ca…   126 B   0.3 ms
///
/// The sign gives the kind: → and ← the sender, ✓ and ✗ how a request ended, · a report of relayd.
struct TailRow: Sendable {
    let layout: TailLayout
    let style: Style
    var localTime = LocalTime.system

    func line(_ message: TailMessage) -> String { line(message, mark: " ") }

    /// - Parameter mark: The text after the number, one column wide.
    func line(_ message: TailMessage, mark: String) -> String {
        var line = Line(style: style)
        let number = message.number == 0 ? "" : "\(message.number)"
        line.add(number.padded(to: layout.numberColumns, alignRight: true), .dim)
        line.add(mark)
        if layout.hasTime, let time = message.time {
            let text =
                layout.hasMilliseconds
                ? localTime.exactTimeOfDay(time) : localTime.timeOfDay(time)
            line.add(text, .dim)
            line.add(" ")
        }
        addApp(message, to: &line)
        let (sign, look) = Self.sign(message)
        line.add(sign, look)
        line.add(" ")
        addWords(message, to: &line)
        return line.finished
    }

    private func addApp(_ message: TailMessage, to line: inout Line) {
        let end = line.columns + layout.appColumns
        let name = message.appName.flatMap { $0.isEmpty ? nil : $0 }
        if let app = message.app {
            let text = (name ?? "app \(app)").shortened(to: layout.appColumns)
            line.add(coloured: style(colourOf: app, text), columns: text.columns)
        } else {
            line.add(name ?? (message.isFromApp == nil ? "relayd" : "-"), .dim)
        }
        line.pad(to: end)
        line.add(" ")
    }

    // MARK: Words

    private func addWords(_ message: TailMessage, to line: inout Line) {
        let start = line.columns
        let right = right(message)
        let taken = right.isEmpty ? 0 : TailLayout.gap + right.columns
        // The column where the words have to end.
        let limit = layout.width.map { max(start + 1, $0 - taken) } ?? .max
        addName(message, room: limit - start, to: &line)
        let words =
            message.name.isEmpty
            ? start : max(line.columns, start + layout.nameColumns) + TailLayout.gap
        if limit - words >= Self.fewestColumns {
            let text = self.words(message, room: limit - words).shortened(to: limit - words)
            line.pad(to: words)
            line.add(coloured: text.text(style), columns: text.columns)
        }
        guard !right.isEmpty else { return }
        line.pad(
            to: layout.width == nil
                ? start + layout.nameColumns + TailLayout.gap + TailLayout.wordsColumns : limit)
        line.add("  ")
        line.add(right)
    }

    /// Fewer columns are not enough to be useful.
    private static let fewestColumns = 4

    private func addName(_ message: TailMessage, room: Int, to line: inout Line) {
        var name = message.name
        if let repeats = message.repeats { name += " \(repeats.text)" }
        let short = name.shortened(to: room)
        line.add(short, Self.look(ofName: message))
        guard layout.hasCorrelation, let correlation = message.correlation else { return }
        let text = " corr \(correlation)"
        if room - short.columns >= text.columns { line.add(text, .dim) }
    }

    /// Where both do not fit, the answer's part stays whole: it is shorter, and matters more.
    private func words(_ message: TailMessage, room: Int) -> ColouredText {
        var words = message.summary
        switch message.kind {
        case .undecodable: words = ColouredText(style(.red, "undecodable: ")) + words
        case .dropped:
            words = ColouredText(style(message.isBad ? .yellow : nil, "dropped: ")) + words
        case .response where layout.isCompact && message.resultCode == "SUCCESS":
            words = words.dropping(first: message.resultCode)
        default: break
        }
        guard let asked = message.asked, !asked.isEmpty else { return words }
        guard !words.isEmpty else { return asked }
        let arrow = ColouredText(style(.dim, " → "))
        let left = room - words.columns - arrow.columns
        return asked.shortened(to: max(left, room / 3)) + arrow + words
    }

    // MARK: Size and latency

    private func right(_ message: TailMessage) -> String {
        var cells: [String] = []
        if layout.hasSize, message.bytes != nil || message.latency != nil {
            let size = message.bytes.map {
                layout.isCompact ? Self.compact(bytes: $0) : Units.bytes($0)
            }
            cells.append((size ?? "").padded(to: layout.sizeColumns, alignRight: true))
        }
        if layout.hasLatency, !cells.isEmpty {
            let latency = message.latency.map {
                layout.isCompact ? Self.compact(milliseconds: $0) : Units.latency($0)
            }
            cells.append((latency ?? "").padded(to: layout.latencyColumns, alignRight: true))
        }
        return cells.joined(separator: layout.isCompact ? " " : "  ")
    }

    /// "512", "9.4K", "293K", "1.2M".
    static func compact(bytes: Int) -> String {
        let text = Units.bytes(bytes)
        let parts = text.split(separator: " ")
        guard parts.count == 2, let unit = parts[1].first, unit != "B" else {
            return String(parts[0])
        }
        let whole = parts[0].prefix { $0 != "." }
        return (whole.count > 2 ? String(whole) : String(parts[0])) + String(unit)
    }

    /// "0.3ms", "12ms", "1.5s", "123s".
    static func compact(milliseconds: Double) -> String {
        guard milliseconds >= 1000 else {
            return Units.latency(milliseconds).replacing(" ", with: "")
        }
        let tenths = Int(min(milliseconds / 100, 1e15))
        return tenths < 1000 ? "\(tenths / 10).\(tenths % 10)s" : "\(tenths / 10)s"
    }

    // MARK: Looks

    /// The colours of the traffic log.
    private static func sign(_ message: TailMessage) -> (String, Style.Look?) {
        let arrow = message.isFromApp.map { $0 ? "→" : "←" } ?? "·"
        switch message.kind {
        case .request: return (arrow, .blue)
        case .notification: return (arrow, .cyan)
        case .response:
            guard message.success ?? true else {
                let isMild = ["ABORTED", "TIMED_OUT"].contains(message.resultCode)
                return ("✗", isMild ? .yellow : .red)
            }
            return ("✓", message.resultCode == "SUCCESS" ? .green : .yellow)
        case .event: return ("·", nil)
        default: return (arrow, nil)
        }
    }

    private static func look(ofName message: TailMessage) -> Style.Look? {
        guard message.isBad else { return nil }
        switch message.kind {
        case .request, .response: return nil
        case .event, .dropped: return .yellow
        case .notification, .undecodable, .stream, .other: return .red
        }
    }
}

/// A line under construction: its text, and the columns it takes.
private struct Line {
    let style: Style
    private(set) var columns = 0
    private var text = ""

    init(style: Style) {
        self.style = style
    }

    mutating func add(_ more: String, _ look: Style.Look? = nil) {
        add(coloured: style(look, more), columns: more.columns)
    }

    mutating func add(coloured more: String, columns: Int) {
        text += more
        self.columns += columns
    }

    mutating func pad(to column: Int) {
        if columns < column { add(String(repeating: " ", count: column - columns)) }
    }

    /// The line without the padding of its last column.
    var finished: String {
        var text = text
        while text.last == " " { text.removeLast() }
        return text
    }
}
