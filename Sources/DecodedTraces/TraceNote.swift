import ControlAPI
package import MessageFilters
import NIOCore
package import RelayCore
import SDLProtocol
package import SDLTraffic
package import Traces

/// An entry of a trace that is not a message: a notice, advice, or a mark.
package struct TraceNote: Sendable {
    package enum Kind: String, Sendable {
        case notice, advice, mark
    }

    package var kind: Kind
    package var time: WallTime
    package var app: AppID?
    /// The name that the app registered with.
    package var appName: String?
    package var code: String?
    package var text: String

    /// Nil for an entry that is not such a record.
    package init?(_ entry: TraceEntry, name: String?) {
        guard case .record(let record) = entry.content else { return nil }
        time = entry.time
        app = record.app
        appName = name
        switch record {
        case .notice(let code, let text, _): (kind, self.code, self.text) = (.notice, code, text)
        case .advice(let code, let text, _): (kind, self.code, self.text) = (.advice, code, text)
        case .mark(let text): (kind, code, self.text) = (.mark, nil, text)
        default: return nil
        }
    }

    package var isAdvice: Bool { kind == .advice }
    package var priority: TrafficPriority { kind == .mark ? .info : .warning }

    /// One line for people.
    package var words: String {
        switch kind {
        case .notice: "the \(app == nil ? "head unit" : "app") \(text)"
        case .advice: text
        case .mark: "mark: \(text)"
        }
    }

    /// One line of JSON with the keys of messages, but without a number, because it is not a message.
    package var json: String {
        var fields = Fields(
            time: Timestamp(time), kind: kind == .advice ? AdviceNote.kind : "event",
            priority: priority.name, level: priority.name, app: app?.description, appName: appName,
            code: code, message: words)
        switch kind {
        case .notice: (fields.event, fields.reason) = ("notice", text)
        case .advice: break
        case .mark: (fields.event, fields.text) = ("mark", text)
        }
        return
            ((try? APICoding.encodeLine(fields)).map { String(decoding: $0, as: UTF8.self) } ?? "")
    }

    private struct Fields: Encodable {
        var time: Timestamp
        var kind: String
        var priority: String
        var level: String
        var app: String?
        var appName: String?
        var code: String?
        var event: String?
        var reason: String?
        var message: String?
        var text: String?

        enum CodingKeys: String, CodingKey {
            case time, kind, priority, level, app
            case appName = "app_name"
            case code, event, reason, message, text
        }
    }
}

extension TraceNote: FilterSubject {
    package func holds(_ term: FilterTerm) -> Bool? {
        switch term {
        case .ok: return kind == .mark
        case .app(let pattern, let connection):
            return (connection != nil && app?.rawValue == connection)
                || appName.map(pattern.matches) ?? false
        case .name(let key, _, let names): return key == .kind && names.contains("event")
        case .priority(let wanted, let isExact):
            let level = priority.rawValue - TrafficPriority.debug.rawValue
            return isExact ? level == wanted.level : level >= wanted.level
        case .text(let pattern): return pattern.matches(words) || pattern.matches(json)
        case .result, .number, .parameter: return false
        }
    }
}
