package import Logging
package import RelayCore
import SDLProtocol
import SDLTraffic

/// One of relayd's own messages, and its three forms: a line for people, a line of JSON, fields for
/// journald. Pure functions; `WriterLogHandler` calls them.
package struct LogRecord: Sendable {
    package var time: WallTime
    package var level: Logger.Level
    /// The part of relayd that logs: the logger's label.
    package var label: String
    package var message: String
    package var metadata: Logger.Metadata = [:]
    package var file = ""
    package var line: UInt = 0
    package var function = ""

    /// A key that is already the name of a journal field: people search for it.
    static let adviceCode = "ADVICE_CODE"
    /// The statement of the advice and its remedy: the message has both, programs get them
    /// separately.
    static let adviceSentence = "ADVICE_SENTENCE"
    static let adviceRemedy = "ADVICE_REMEDY"
    /// The name of the app that advice is about; the message begins with it.
    static let appName = "app_name"
    /// Metadata not shown after the message, because the message contains it.
    private static let saidInMessage: Set = [adviceSentence, adviceRemedy, appName]

    /// Message and metadata on one line: `link: opened (accessory=sim: link=1)`.
    package var sentence: String {
        var text = "\(label): \(message)"
        let shown = metadata.filter { !Self.saidInMessage.contains($0.key) }
        if !shown.isEmpty {
            let pairs = shown.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            text += " (\(pairs.joined(separator: " ")))"
        }
        return LogText.oneLine(text)
    }

    /// A line for people: `10:31:07.123 warning link: …`.
    package func text(color: Bool) -> String {
        guard color else { return "\(time.clock) \(level.rawValue) \(sentence)" }
        let code =
            switch level {
            case .critical, .error: "1;31"
            case .warning: "33"
            case .notice: "1"
            case .info: "32"
            case .debug, .trace: "2"
            }
        return
            "\u{1B}[2m\(time.clock)\u{1B}[0m \u{1B}[\(code)m\(level.rawValue)\u{1B}[0m \(sentence)"
    }

    /// A line for machines: one JSON object. Members that traffic lines also have use the same names, and
    /// advice is the API's `AdviceNote`; the rest of the metadata is an object of its own.
    package var json: String {
        var metadata = metadata
        let sentence = metadata.removeValue(forKey: Self.adviceSentence)
        let remedy = metadata.removeValue(forKey: Self.adviceRemedy)
        let code = metadata.removeValue(forKey: Self.adviceCode)
        let message = sentence.map { "\($0)" } ?? message
        var text = #"{"time":"\#(time.rfc3339)","kind":"\#(code == nil ? "log" : "advice")""#
        text += #","priority":"\#(level.priority)","level":"\#(level.rawValue)""#
        // If there is no app, the value may be a dash.
        if let app = metadata["app"], "\(app)".hasPrefix("#") {
            text += #","app":\#(PrintableText.jsonString("\(app)"))"#
            metadata["app"] = nil
        }
        if let name = metadata.removeValue(forKey: Self.appName) {
            text += #","app_name":\#(LogText.json(name))"#
        }
        text += Self.number("session", &metadata)
        text += #","logger":\#(PrintableText.jsonString(label))"#
        text += #","message":\#(PrintableText.jsonString(message))"#
        if let code {
            text += #","code":\#(LogText.json(code))"#
            if let remedy { text += #","remedy":\#(LogText.json(remedy))"# }
            let count = Self.number("count", &metadata)
            text += (count.isEmpty ? #","count":1"# : count) + Self.number("entry", &metadata)
            if let fault = metadata.removeValue(forKey: "fault") {
                text += #","fault":\#(LogText.json(fault))"#
            }
        }
        if !metadata.isEmpty {
            let members = metadata.sorted { $0.key < $1.key }.map {
                "\(PrintableText.jsonString($0.key)):\(LogText.json($0.value))"
            }
            text += #","metadata":{\#(members.joined(separator: ","))}"#
        }
        return text + "}"
    }

    /// Removes a whole number from the metadata and returns it as a member; empty if there is none.
    private static func number(_ key: String, _ metadata: inout Logger.Metadata) -> String {
        guard let number = metadata[key].flatMap({ UInt64("\($0)") }) else { return "" }
        metadata[key] = nil
        return #","\#(key)":\#(number)"#
    }

    /// Values that relayd's messages share with traffic lines, and their names there: one search
    /// finds both.
    private static let sharedFields = [
        adviceCode: adviceCode, adviceSentence: adviceSentence, adviceRemedy: adviceRemedy,
        appName: "SDL_APP", "app": "SDL_CONNECTION", "session": "SDL_SESSION",
    ]

    /// The fields journald stores besides the message: every value in a field of its own.
    package var journalFields: [String: String] {
        var fields = ["RELAYD_LOGGER": label]
        for (key, value) in metadata {
            let name = Self.sharedFields[key] ?? JournalEntry.fieldName(key)
            fields[name] = "\(value)"
        }
        if !file.isEmpty {
            fields["CODE_FILE"] = file
            fields["CODE_LINE"] = "\(line)"
            fields["CODE_FUNC"] = function
        }
        return fields
    }
}

extension Logger.Level {
    /// The word used in traffic lines.
    fileprivate var priority: String {
        switch self {
        case .trace, .debug: "debug"
        case .info, .notice: "info"
        case .warning: "warning"
        case .error, .critical: "error"
        }
    }
}
