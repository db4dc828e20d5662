import ControlAPI
import DecodedTraces
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

/// A message of relayd's stream as far as a line of `tail` needs it, harmless for a terminal.
struct TailMessage: Sendable {
    /// The kinds whose lines differ; others are shown by direction.
    enum Kind: String, Sendable {
        case request, response, notification, stream, event, undecodable, dropped
        case other
    }

    /// 0 of what is no message: a line of a trace.
    var number: Int
    var time: Timestamp?
    var kind: Kind
    /// Its priority is warning or error.
    var isBad: Bool
    /// Number of the app's connection; nil when no app is concerned.
    var app: Int?
    var appName: String?
    /// nil when nobody sent it.
    var isFromApp: Bool?
    /// The RPC, the frame, the service; empty of most events.
    var name: String
    /// Nil of what has none, and of notifications.
    var correlation: Int?
    /// Of a response.
    var success: Bool?
    var resultCode: String
    /// What it says, without what the other columns have.
    var summary: ColouredText
    var bytes: Int?
    /// Milliseconds since the request.
    var latency: Double?
    /// The answer waits for a person to read, say or choose something.
    var waitsForPeople: Bool
    /// Number of the request that it answers, or that is unanswered.
    var request: Int?
    /// Number of the request whose correlation ID it took.
    var replaces: Int?
    /// Of an event: which.
    var event: String?

    /// With `TailPairs`: what the request said whose answer this is.
    var asked: ColouredText?
    /// With `TailFold`: how often the same came in a row.
    var repeats: TailFold.Repeats?

    init?(_ json: JSONObject, keepingColours: Bool) {
        guard let number = json.integer("n") else { return nil }
        self.number = number
        func word(_ key: String) -> String? { json.string(key).map(SafeText.clean) }
        time = json.string("time").flatMap { Timestamp($0) }
        kind = json.string("kind").flatMap { Kind(rawValue: $0) } ?? .other
        isBad = json.string("priority").map { $0 == "warning" || $0 == "error" } ?? false
        app = json.string("app").flatMap { Int($0.drop { $0 == "#" }) }
        appName = word("app_name")
        isFromApp = json.string("from").map { $0 == "app" }
        if kind != .notification { correlation = json.integer("correlation_id") }
        success = json.bool("success")
        resultCode = word("result_code") ?? ""
        // Nothing was sent when something happened.
        bytes = kind == .event ? nil : json.integer("bytes")
        latency = json.double("latency_ms")
        waitsForPeople = json.bool("waits_for_people") ?? false
        request = json.integer("request")
        replaces = json.integer("replaces")
        event = json.string("event")
        name = ""
        summary = ColouredText(
            SafeText.line(json.string("summary") ?? "", keepingColours: keepingColours))
        name = Self.name(json.string("kind") ?? "", word, frames: json.integer("frames") ?? 1)
    }

    /// What a trace tells beside messages.
    init(_ note: TraceNote) {
        number = 0
        time = Timestamp(note.time)
        kind = .event
        isBad = note.priority >= .warning
        app = note.app.flatMap { Int(exactly: $0.rawValue) }
        appName = note.appName.map(SafeText.clean)
        isFromApp = nil
        name = ""
        correlation = nil
        success = nil
        resultCode = ""
        summary = ColouredText(SafeText.line(note.words))
        bytes = nil
        latency = nil
        waitsForPeople = false
        request = nil
        replaces = nil
        event = note.kind.rawValue
    }

    private static func name(
        _ kind: String, _ word: (String) -> String?, frames: Int
    ) -> String {
        if let function = word("function") { return function }
        let service = word("service") ?? ""
        switch kind {
        case "control":
            let frame = word("control") ?? kind
            return service.isEmpty || service == "control" ? frame : "\(frame) \(service)"
        case "stream": return service.isEmpty ? kind : service
        case "security": return word("query") ?? kind
        case "encrypted": return "encrypted \(service)"
        case "undecodable": return "\(service) message"
        case "dropped":
            let frame = word("frame") ?? (frames == 1 ? "1 frame" : "\(frames) frames")
            return service.isEmpty ? frame : "\(frame) \(service)"
        case "event":
            return word("event") == "unanswered_start" ? "StartService \(service)" : ""
        default: return kind
        }
    }
}
