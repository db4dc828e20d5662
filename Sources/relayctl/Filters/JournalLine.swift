// A line of the journal, as `journalctl --output=json` prints it. Used by `log` for searches that
// journalctl does not support, and for its JSON; see `JournalLine+JSON.swift`.

import Glibc
import MessageFilters
import NIOCore
import SDLProtocol

struct JournalLine: FilterSubject {
    let fields: JSONObject

    /// Nil when the line is not an entry of the journal.
    init?(_ line: String) {
        guard let fields = try? JSONObject(ByteBuffer(string: line)) else { return nil }
        self.fields = fields
    }

    /// The terms of a filter that a line of the journal cannot answer.
    static func unanswerable(_ filter: FilterExpression) -> [FilterTerm] {
        filter.terms.filter { term in
            if case .parameter = term { true } else { false }
        }
    }

    func holds(_ term: FilterTerm) -> Bool? {
        switch term {
        case .ok: return priority.map { $0 > Self.warning } ?? true
        case .app(let pattern, let connection):
            return fields.string("SDL_APP").map(pattern.matches) ?? false
                || fields.string("SDL_APP_ID").map(pattern.matches) ?? false
                || connection.map { fields.string("SDL_CONNECTION") == "#\($0)" } ?? false
        case .name(.from, _, let names):
            return fields.string("SDL_FROM").map { names.contains($0 == "app" ? "app" : "unit") }
                ?? false
        case .name(let key, _, let names):
            let field = Self.wordFields[key].flatMap { fields.string($0) }
            return field.map(names.contains) ?? false
        case .result(let pattern):
            return fields.string("SDL_RESULT").map(pattern.matches) ?? false
        case .priority(let wanted, let isExact):
            guard let priority else { return false }
            let level = FilterPriority(syslog: priority).level
            return isExact ? level == wanted.level : level >= wanted.level
        case .number(let key, let order, let wanted):
            let field = Self.numberFields[key].flatMap { fields.string($0) }.flatMap { Double($0) }
            return field.map { order.holds($0, wanted.value) } ?? false
        case .text(let pattern): return pattern.matches(message)
        case .parameter: return false
        }
    }

    static let wordFields: [FilterTerm.NameKey: String] = [
        .rpc: "SDL_FUNCTION", .kind: "SDL_KIND", .service: "SDL_SERVICE", .from: "SDL_FROM",
    ]
    static let numberFields: [FilterTerm.NumberKey: String] = [
        .milliseconds: "SDL_LATENCY_MS", .bytes: "SDL_BYTES", .number: "SDL_NUMBER",
        .correlation: "SDL_CORRELATION_ID", .session: "SDL_SESSION",
    ]
    /// Syslog's number for a warning; more severe levels have smaller numbers.
    static let warning = 4

    var priority: Int? { fields.string("PRIORITY").flatMap { Int($0) } }

    /// Text with other than printable characters comes as an array of bytes.
    var message: String {
        if let text = fields.string("MESSAGE") { return text }
        guard let array = fields.array("MESSAGE") else { return "" }
        let bytes = array.elements.compactMap { token in
            array.bytes.getString(
                at: array.bytes.readerIndex + token.range.lowerBound, length: token.range.count
            ).flatMap { UInt8($0) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// As `journalctl --output=short --no-hostname` prints it.
    var text: String {
        let name = SafeText.clean(fields.string("SYSLOG_IDENTIFIER") ?? "relayd")
        let process = fields.string("_PID").map { "[\(SafeText.clean($0))]" } ?? ""
        return "\(time) \(name)\(process): \(SafeText.line(message))"
    }

    private var time: String {
        let stamp = fields.string("__REALTIME_TIMESTAMP").flatMap { Int64($0) } ?? 0
        var seconds = time_t(stamp / 1_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let room = 32
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress, room, "%b %d %H:%M:%S", &parts)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension FilterPriority {
    /// From syslog's number: 7 debug, 6 and 5 info, 4 warning, the rest error.
    init(syslog: Int) {
        switch syslog {
        case 7...: self = .debug
        case 5...6: self = .info
        case JournalLine.warning: self = .warning
        default: self = .error
        }
    }
}
