// A line of the journal, with the fields it has in the JSON log, the control API and `tail --json`.

import ControlAPI
import MessageFilters
import NIOCore
import SDLProtocol

extension JournalLine {
    /// One object. A line that relayd wrote as JSON is passed on as it is; journald's own fields are left
    /// out.
    var json: String {
        if let whole = try? JSONObject(ByteBuffer(string: message)), whole.string("kind") != nil {
            return whole.compacted
        }
        let line = try? APICoding.encodeLine(Members(self))
        return line.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// RFC 3339, UTC, with the microseconds that journald has.
    fileprivate var moment: String {
        let stamp = fields.string("__REALTIME_TIMESTAMP").flatMap { Int64($0) } ?? 0
        let whole = Timestamp(millisecondsSince1970: stamp / 1000).description.dropLast()
        let rest = String(stamp % 1000)
        return whole + String(repeating: "0", count: max(0, 3 - rest.count)) + rest + "Z"
    }

    /// Values in relayd's own messages whose names are not fields of messages.
    fileprivate var metadata: [String: String]? {
        let values = fields.members.compactMap { member -> (String, String)? in
            guard let key = fields.string(member.key), key.hasPrefix(Self.ownPrefix),
                key != Self.loggerField, let value = fields.string(key)
            else { return nil }
            return (key.dropFirst(Self.ownPrefix.count).lowercased(), value)
        }
        return values.isEmpty ? nil : Dictionary(values) { first, _ in first }
    }

    fileprivate static let ownPrefix = "RELAYD_"
    fileprivate static let loggerField = "RELAYD_LOGGER"

    fileprivate func number(_ key: String) -> Int? { fields.string(key).flatMap { Int($0) } }
}

/// In the order of API.md.
private struct Members: Encodable {
    let n: Int?
    let time: String
    let kind: String
    let priority: String
    let level: String
    let message: String
    let app: String?
    let appName: String?
    let appID: String?
    let session: Int?
    let service: String?
    let from: String?
    let bytes: Int?
    let function: String?
    let correlationID: Int?
    let success: Bool?
    let resultCode: String?
    let latencyMilliseconds: Int?
    let control: String?
    let reason: String?
    /// The part of relayd, or the program, that wrote the line.
    let logger: String?
    let code: String?
    let remedy: String?
    let count: Int?
    let entry: Int?
    let fault: String?
    let metadata: [String: String]?

    enum CodingKeys: String, CodingKey {
        case n, time, kind, priority, level, message, app
        case appName = "app_name"
        case appID = "app_id"
        case session, service, from, bytes, function
        case correlationID = "correlation_id"
        case success
        case resultCode = "result_code"
        case latencyMilliseconds = "latency_ms"
        case control, reason, logger, code, remedy, count, entry, fault, metadata
    }

    /// Names of syslog's numbers 0 to 7 in relayd's log.
    private static let levels = [
        "critical", "critical", "critical", "error", "warning", "notice", "info", "debug",
    ]

    init(_ line: JournalLine) {
        let fields = line.fields
        let code = fields.string("ADVICE_CODE")
        let kind = fields.string("SDL_KIND")
        self.code = code
        self.kind = kind ?? (code == nil ? "log" : AdviceNote.kind)
        n = line.number("SDL_NUMBER")
        time = line.moment
        let urgency = min(max(line.priority ?? 6, 0), 7)
        priority = FilterPriority(syslog: urgency).rawValue
        level = kind == nil ? Self.levels[urgency] : priority
        app = fields.string("SDL_CONNECTION")
        appName = fields.string("SDL_APP")
        appID = fields.string("SDL_APP_ID")
        session = line.number("SDL_SESSION")
        service = fields.string("SDL_SERVICE")
        from = fields.string("SDL_FROM")
        bytes = line.number("SDL_BYTES")
        function = fields.string("SDL_FUNCTION")
        correlationID = line.number("SDL_CORRELATION_ID")
        success = fields.string("SDL_SUCCESS").map { $0 == "1" }
        resultCode = fields.string("SDL_RESULT")
        latencyMilliseconds = line.number("SDL_LATENCY_MS")
        control = fields.string("SDL_CONTROL")
        reason = fields.string("SDL_REASON")
        let speaker = kind == nil ? fields.string(JournalLine.loggerField) : nil
        logger = speaker ?? (kind == nil ? fields.string("SYSLOG_IDENTIFIER") : nil)
        remedy = fields.string("ADVICE_REMEDY")
        message = Self.message(line, speaker, isTraffic: kind != nil)
        var metadata = line.metadata
        count = code == nil ? nil : metadata?.removeValue(forKey: "count").flatMap { Int($0) } ?? 1
        entry = code == nil ? nil : metadata?.removeValue(forKey: "entry").flatMap { Int($0) }
        fault = code == nil ? nil : metadata?.removeValue(forKey: "fault")
        self.metadata = metadata?.isEmpty == true ? nil : metadata
    }

    /// The message without parts that are separate members: the time in front of traffic, and the part of
    /// relayd.
    private static func message(
        _ line: JournalLine, _ speaker: String?, isTraffic: Bool
    ) -> String {
        if let sentence = line.fields.string("ADVICE_SENTENCE") { return sentence }
        guard isTraffic else {
            let prefix = speaker.map { "\($0): " } ?? ""
            return line.message.hasPrefix(prefix)
                ? String(line.message.dropFirst(prefix.count)) : line.message
        }
        return line.message.split(separator: " ").dropFirst().joined(separator: " ")
    }
}
