import ControlAPI
import SDLProtocol

/// One message as text, with its request or response, as `Routes.message` answers: its kind, its context,
/// its content. `ShowCommand` prints it.
struct MessageText: TextPage {
    let layout: TextLayout

    /// Column where values start: the longest label and a gap.
    private static let valueColumn = 13
    /// Keys that have a line of their own below, or repeat other information; the rest is shown by name.
    private static let known: Set<String> = [
        "n", "time", "kind", "priority", "app", "app_name", "app_id", "session", "service", "from",
        "bytes", "frames", "function", "function_id", "correlation_id", "success", "result_code",
        "info", "latency_ms", "request", "waits_for_people", "bulk_bytes", "bulk_kind", "params",
        "payload", "problems", "text", "summary", "level", "message",
    ]

    /// Nil when there is no message in `whole`.
    func lines(_ whole: JSONObject) -> [String]? {
        guard let message = whole.object("message") else { return nil }
        var lines = heading(message)
        lines += place(message)
        lines += rpc(message)
        lines += pairing(
            message, request: whole.object("request"), response: whole.object("response"))
        lines += size(message, bulk: whole.object("bulk"))
        lines += rest(message)
        lines += contents(message)
        return lines
    }

    private func heading(_ message: JSONObject) -> [String] {
        let kind = message.string("kind") ?? ""
        let time = message.string("time").flatMap { Timestamp($0) }.map(localTime.full) ?? ""
        var lines = line("Message", "\(message.integer("n") ?? 0)  ", kind, look(message))
        lines += line("Time", time)
        if let priority = message.string("priority"), ["warning", "error"].contains(priority) {
            lines += line("Priority", "", priority, priority == "error" ? .red : .yellow)
        }
        return lines
    }

    private func place(_ message: JSONObject) -> [String] {
        var lines: [String] = []
        if let app = message.string("app") {
            let appID = message.string("app_id").map { ", app ID \(SafeText.clean($0))" } ?? ""
            let number = SafeText.clean(app).drop { $0 == "#" }
            let connection = "app \(number)\(appID)"
            let name = message.string("app_name").map(SafeText.clean)
            lines += line("App", name.map { "\($0)  (\(connection))" } ?? connection)
        }
        var places: [String] = []
        if let session = message.integer("session") { places.append("session \(session)") }
        if let service = message.string("service") {
            places.append("service \(SafeText.clean(service))")
        }
        switch message.string("from") {
        case "app": places.append("from the app")
        case "accessory": places.append("from the head unit")
        default: break
        }
        if !places.isEmpty { lines += line("Where", places.joined(separator: ", ")) }
        return lines
    }

    private func rpc(_ message: JSONObject) -> [String] {
        guard let function = message.string("function") else { return [] }
        var lines = line("RPC", title(function, message))
        if message.value("success") != nil {
            let info = message.string("info").map { "  \"\(SafeText.line($0))\"" } ?? ""
            lines += line("Result", "", result(message), look(message), info)
        }
        return lines
    }

    /// The matching request or response, or that there is none yet.
    private func pairing(
        _ message: JSONObject, request: JSONObject?, response: JSONObject?
    ) -> [String] {
        if let number = message.integer("request") {
            let latency = message.double("latency_ms").map { ", \(Units.latency($0)) before" } ?? ""
            let isKept = request == nil ? ", not kept any more" : ""
            return line("Answers", "[\(number)]\(latency)\(isKept)")
        }
        if let response {
            let latency = response.double("latency_ms").map { " after \(Units.latency($0))" } ?? ""
            return line(
                "Answer", "[\(response.integer("n") ?? 0)]\(latency): ", result(response),
                look(response))
        }
        guard message.string("kind") == "request" else { return [] }
        let isForPeople = message.bool("waits_for_people") ?? false
        return line("Answer", isForPeople ? "none so far; it waits for a person" : "none so far")
    }

    private func size(_ message: JSONObject, bulk: JSONObject?) -> [String] {
        var lines: [String] = []
        if let bytes = message.integer("bytes") {
            let frames = message.integer("frames") ?? 1
            lines += line("Size", "\(Units.bytes(bytes)) in \(Units.count(frames, "frame"))")
        }
        if let bytes = bulk?.integer("bytes") {
            let kind = bulk?.string("kind").map { ", \(SafeText.clean($0))" } ?? ""
            lines += line("Bulk data", "\(Units.bytes(bytes))\(kind)")
        }
        return lines
    }

    /// Members that only messages of one kind have, or that this relayctl does not know yet.
    private func rest(_ message: JSONObject) -> [String] {
        message.members.flatMap { member -> [String] in
            guard let key = message.string(member.key), !Self.known.contains(key) else { return [] }
            let value = message.string(member.value).map { SafeText.line($0) }
            return line(SafeText.clean(key), value ?? message.text(member.value))
        }
    }

    /// Parameters of an RPC, or the payload of a control frame.
    private func contents(_ message: JSONObject) -> [String] {
        let problems = MessageProblem.all(of: message)
        guard let object = message.object("params") ?? message.object("payload") else {
            return problems.map { $0.line(style) }
        }
        return [""] + MarkedJSON.lines(object, problems: problems, style: style)
    }

    // MARK: Pieces

    private func title(_ function: String, _ message: JSONObject) -> String {
        let correlation = message.integer("correlation_id").map { "  corr \($0)" } ?? ""
        let hasCorrelation = message.string("kind") != "notification"
        let number = message.integer("function_id").map { "  (function \($0))" } ?? ""
        return SafeText.clean(function) + (hasCorrelation ? correlation : "") + number
    }

    private func result(_ message: JSONObject) -> String {
        let isGood = message.bool("success") ?? true
        let code = message.string("result_code").map(SafeText.clean) ?? ""
        return (code.isEmpty ? (isGood ? "success" : "failed") : code) + (isGood ? "" : "!")
    }

    /// The colours of the traffic log.
    private func look(_ message: JSONObject) -> Style.Look? {
        switch message.string("kind") {
        case "request": return .blue
        case "notification": return .cyan
        case "response":
            let code = message.string("result_code")
            if message.bool("success") ?? false { return code == "SUCCESS" ? .green : .yellow }
            return code == "ABORTED" || code == "TIMED_OUT" ? .yellow : .red
        default: return nil
        }
    }

    private func line(
        _ label: String, _ value: String, _ marked: String = "", _ look: Style.Look? = nil,
        _ end: String = ""
    ) -> [String] {
        [
            style(.bold, label.padded(to: max(Self.valueColumn, label.columns + 2))) + value
                + style(look, marked) + end
        ]
    }
}
