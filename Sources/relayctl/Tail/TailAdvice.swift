import ControlAPI
import DecodedTraces
import RelayCore
import SDLProtocol
import SDLTraffic

/// Advice as `tail` shows it: a line without a number, below the message it is about. On a terminal it takes
/// as many lines as it needs, because the remedy must not be cut off.
struct TailAdvice: Sendable {
    var time: Timestamp?
    /// Number of the app's connection; nil when it is about the head unit or the link.
    var app: Int?
    var appName: String?
    /// Whether something is wrong, rather than just worth knowing.
    var isWarning: Bool
    var code: String
    var text: String
    var remedy: String
    /// Number of times it was seen so far.
    var count: Int
    /// Number of the message.
    var entry: Int

    /// Nil for other notes in the stream.
    init?(_ json: JSONObject) {
        guard json.string("kind") == AdviceNote.kind, let entry = json.integer("entry") else {
            return nil
        }
        func words(_ key: String) -> String { SafeText.line(json.string(key) ?? "") }
        self.entry = entry
        time = json.string("time").flatMap { Timestamp($0) }
        app = json.string("app").flatMap { Int($0.drop { $0 == "#" }) }
        appName = json.string("app_name").map(SafeText.clean)
        isWarning = json.string("priority") != AdviceReport.info
        code = SafeText.clean(json.string("code") ?? "")
        count = json.integer("count") ?? 1
        remedy = words("remedy")
        text = words("message")
        // The app has a column of its own.
        let subject = (appName ?? app.map { "#\($0)" }).map { "\($0): " } ?? ""
        if text.hasPrefix(subject) { text.removeFirst(subject.count) }
    }

    /// From a trace, where the text includes the remedy, and the message it is about is unknown.
    init(_ note: TraceNote) {
        time = Timestamp(note.time)
        app = note.app.flatMap { Int(exactly: $0.rawValue) }
        appName = note.appName.map(SafeText.clean)
        isWarning = note.priority >= .warning
        code = SafeText.clean(note.code ?? "")
        text = SafeText.line(note.text)
        let subject = (appName ?? app.map { "#\($0)" }).map { "\($0): " } ?? ""
        if text.hasPrefix(subject) { text.removeFirst(subject.count) }
        remedy = ""
        count = 1
        entry = 0
    }

    /// With fewer columns for the words, continuation lines begin at the left margin.
    private static let fewestColumns = 40
    private static let margin = 6

    func lines(_ layout: TailLayout, style: Style, localTime: LocalTime) -> [String] {
        var plain = String(repeating: " ", count: layout.numberColumns + 1)
        var line = plain
        func add(_ more: String, _ shown: String) {
            plain += more
            line += shown
        }
        if layout.hasTime, let time {
            let text =
                layout.hasMilliseconds
                ? localTime.exactTimeOfDay(time) : localTime.timeOfDay(time)
            add(text + " ", style(.dim, text) + " ")
        }
        let name = (appName ?? app.map { "app \($0)" } ?? "relayd")
            .padded(to: layout.appColumns).shortened(to: layout.appColumns)
        add(name + " ", (app.map { style(colourOf: $0, name) } ?? style(.dim, name)) + " ")
        add("! ", style(isWarning ? .yellow : nil, "!") + " ")
        let times = count > 1 ? ", ×\(count)" : ""
        let words = text + (remedy.isEmpty ? "" : " → \(remedy)") + "  (\(code)\(times))"
        guard let width = layout.width else { return [line + words] }
        let start = plain.columns
        let indent = width - start < Self.fewestColumns ? Self.margin : start
        var lines = Paragraph.words(words, used: start, width: width, indent: indent)
        lines[0] = line + lines[0]
        return lines
    }
}
