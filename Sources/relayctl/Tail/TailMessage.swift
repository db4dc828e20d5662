import ControlAPI
import DecodedTraces
import NIOCore
import RelayCore
import SDLProtocol
import SDLTraffic

/// The parts of a message in relayd's stream that a line of `tail` needs, safe for a terminal.
struct TailMessage: Sendable {
    /// Kinds with their own form of line; others are shown by direction.
    enum Kind: String, Sendable {
        case request, response, notification, stream, event, undecodable, dropped
        case other
    }

    /// 0 for a line of a trace that is not a message.
    var number: Int
    var time: Timestamp?
    var kind: Kind
    /// Whether its priority is warning or error.
    var isBad: Bool
    /// Number of the app's connection; nil when no app is concerned.
    var app: Int?
    var appName: String?
    /// nil when it was not sent by anyone.
    var isFromApp: Bool?
    /// The RPC, frame or service; empty for most events.
    var name: String
    /// Nil for notifications and messages without one.
    var correlation: Int?
    /// For a response.
    var success: Bool?
    var resultCode: String
    /// The content, without what the other columns show.
    var summary: ColouredText
    var bytes: Int?
    /// Milliseconds since the request.
    var latency: Double?
    /// Whether the answer waits for a person to read, say or choose something.
    var waitsForPeople: Bool
    /// Number of the request that it answers or reports as unanswered.
    var request: Int?
    /// Number of the request whose correlation ID it took.
    var replaces: Int?
    /// For an event: which one.
    var event: String?

    /// With `TailPairs`: the content of the request that this answers.
    var asked: ColouredText?
    /// With `TailFold`: number of repetitions in a row.
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
        // Nothing is sent with an event.
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

    /// A note of a trace, which is not a message.
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
