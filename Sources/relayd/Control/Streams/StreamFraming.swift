/// How a stream's lines are put on the wire: one JSON object per line, or as server-sent events for
/// browsers. Chosen per request by `MessageHandlers` and `EventHandlers`.
enum StreamFraming: Sendable {
    /// A JSON object per line (application/x-ndjson).
    case lines
    /// "id", "data" and a blank line (WHATWG HTML, "Server-sent events"). Notes are events of type
    /// "note", so that `onmessage` only gets messages.
    case serverSentEvents

    /// The framing the client accepts; lines unless it asks for server-sent events.
    init(_ request: ControlRequest) {
        let wanted = request.header("Accept") ?? ""
        self = wanted.contains("text/event-stream") ? .serverSentEvents : .lines
    }

    var contentType: String {
        switch self {
        case .lines: "application/x-ndjson"
        case .serverSentEvents: "text/event-stream"
        }
    }

    /// The text before an object. An ID includes the run of relayd, because a browser that
    /// reconnects sends nothing else.
    func prefix(_ instance: String, _ number: some BinaryInteger) -> String {
        switch self {
        case .lines: ""
        case .serverSentEvents: "id: \(instance)/\(number)\ndata: "
        }
    }

    var suffix: String {
        switch self {
        case .lines: "\n"
        case .serverSentEvents: "\n\n"
        }
    }

    /// A note; `next` is the cursor it moves the reader to.
    func note(_ json: String, _ instance: String, next: Int?) -> String {
        switch self {
        case .lines: json + "\n"
        case .serverSentEvents:
            (next.map { "id: \(instance)/\($0)\n" } ?? "") + "event: note\ndata: \(json)\n\n"
        }
    }

    /// The position from which a reconnecting browser continues.
    static func lastEvent(_ request: ControlRequest) -> (instance: String, after: Int)? {
        guard let text = request.header("Last-Event-ID"),
            let slash = text.firstIndex(of: "/"),
            let after = Int(text[text.index(after: slash)...]), after >= 0
        else { return nil }
        return (String(text[..<slash]), after)
    }
}
