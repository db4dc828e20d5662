package import ControlAPI
package import MessageFilters
import NIOCore
package import SDLProtocol

/// A message of relayd's stream, or of a recording, as a scenario sees it: the JSON object of the
/// control API (`Message` in API.md).
package struct ScenarioMessage: Sendable {
    private let line: JSONObject
    package let number: Int
    package let kind: String
    /// Number of the app's connection.
    package let app: Int?
    package let appName: String?
    package let function: String?
    /// nil if nobody sent it.
    package let isFromApp: Bool?
    package let correlationID: Int?
    package let fate: String?
    package let faultRule: Int?
    package let event: String?

    /// - Returns: Nil for anything but a message: a note, advice.
    package init?(_ line: JSONObject) {
        guard let number = line.integer("n"), let kind = line.string("kind") else { return nil }
        self.line = line
        self.number = number
        self.kind = kind
        app = line.string("app").flatMap { Int($0.drop { $0 == "#" }) }
        appName = line.string("app_name")
        function = line.string("function")
        isFromApp = line.string("from").map { $0 == "app" }
        correlationID = line.integer("correlation_id")
        fate = line.string("fate")
        faultRule = line.integer("fault_rule")
        event = line.string("event")
    }

    /// Whether an app or the head unit has sent it, and the other side has got or would have got it. What
    /// relayd sends and receives for itself is not part of the dialogue, but its answers in place of the
    /// head unit are.
    package var isOfDialogue: Bool {
        switch fate {
        case "to_relay", "replaced": false
        case "by_relay": kind == "response"
        default: true
        }
    }

    /// Whether it is a request of an app that a fault rule has stopped, so that it can be answered
    /// differently.
    package var isStoppedRequest: Bool {
        kind == "dropped" && isFromApp == true && correlationID != nil
    }

    package var parameters: JSONObject? { line.object("params") }

    /// The parameters, or the message itself, as a value.
    package func root(ofMessage: Bool) -> AnyJSON {
        if ofMessage { return AnyJSON(line) }
        return parameters.map { AnyJSON($0) } ?? .object([:])
    }

    /// The log line, or as much as there is of it: for people.
    package var words: String {
        let text =
            line.string("message")
            ?? [appName, kind, function].compactMap { $0 }
            .joined(separator: " ")
        return PrintableText.string(text, limit: 300)
    }

    package var time: String { line.string("time") ?? "" }
    package var resultCode: String? { line.string("result_code") }
    package var bulkBytes: Int? { line.integer("bulk_bytes") }
}

extension ScenarioMessage: FilterSubject {
    package func holds(_ term: FilterTerm) -> Bool? {
        switch term {
        case .ok:
            // The outcome of a request is that of its response.
            if kind == "request" || isStoppedRequest { return nil }
            return line.string("priority").map { $0 != "warning" && $0 != "error" } ?? true
        case .app(let pattern, let connection):
            return appName.map(pattern.matches) ?? false
                || line.string("app_id").map(pattern.matches) ?? false
                || connection.flatMap(Int.init(exactly:)).map { $0 == app } ?? false
        case .name(.rpc, _, let names): return function.map(names.contains) ?? false
        case .name(.kind, _, let names):
            return names.contains(kind) || isStoppedRequest && names.contains("request")
        case .name(.service, _, let names):
            return line.string("service").map(names.contains) ?? false
        case .name(.from, _, let names):
            return isFromApp.map { names.contains($0 ? "app" : "unit") } ?? false
        case .result(let pattern): return resultCode.map(pattern.matches) ?? false
        case .priority(let wanted, let isExact):
            guard let level = line.string("priority").flatMap(FilterPriority.init(rawValue:))?.level
            else { return false }
            return isExact ? level == wanted.level : level >= wanted.level
        case .number(let key, let order, let wanted):
            return line.double(Self.fields[key] ?? "").map { order.holds($0, wanted.value) }
                ?? false
        case .text(let pattern):
            return line.string("message").map(pattern.matches) ?? false
                || parameters.map { pattern.matches($0.compacted) } ?? false
        case .parameter(let path, let test): return parameters?.has(path[...], test) ?? false
        }
    }

    private static let fields: [FilterTerm.NumberKey: String] = [
        .milliseconds: "latency_ms", .bytes: "bytes", .number: "n",
        .correlation: "correlation_id", .session: "session",
    ]
}

extension AnyJSON {
    /// Depth is bounded by `JSONScanner`.
    package init(_ object: JSONObject) {
        var members: [String: AnyJSON] = [:]
        for member in object.members {
            guard let name = object.string(member.key) else { continue }
            members[name] = AnyJSON(member.value, in: object)
        }
        self = .object(members)
    }

    private init(_ token: JSONToken, in container: some JSONContainer) {
        switch token.kind {
        case .object: self = container.object(token).map { AnyJSON($0) } ?? .null
        case .array:
            let array = container.array(token)
            self = .array(array.map { list in list.elements.map { AnyJSON($0, in: list) } } ?? [])
        case .string: self = .string(container.string(token) ?? "")
        case .number:
            if let integer = container.integer(token) {
                self = .integer(integer)
            } else {
                self = .number(container.double(token) ?? 0)
            }
        case .bool: self = .bool(token.range.count == 4)
        case .null: self = .null
        }
    }
}

extension JSONContainer {
    fileprivate func double(_ token: JSONToken) -> Double? {
        bytes.getString(
            at: bytes.readerIndex + token.range.lowerBound, length: token.range.count
        ).flatMap { Double($0) }
    }
}
