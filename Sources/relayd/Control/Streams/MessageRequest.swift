import ControlAPI
import DidYouMean
import MessageFilters
import NIOHTTP1
import RelayCore
import SDLProtocol
import SDLTraffic

/// What a client wants to know about the kept messages, read from the query: cursor, filters, form.
struct MessageRequest: Sendable {
    enum Route: Sendable {
        case list
        case stream
        /// Events have cursors like messages, but nothing to choose by.
        case events
        case eventStream
    }

    var after: UInt64?
    var instance: String?
    var limit = Self.defaultLimit
    var last: Int?
    var follows = true
    var filter = MessageFilter.everything
    var content = MessageFormatter.Content.json
    var hasColours = false

    /// Messages of one list: a screen or two for a person with curl.
    static let defaultLimit = 100
    /// A reader that wants more takes the stream, or asks again with the cursor.
    static let limits = 1...1000
    /// More than any ring holds.
    static let lastLimits = 0...10_000_000
    /// A day, in milliseconds: nobody waits longer for an answer.
    static let latencyLimits = 0...86_400_000

    /// - Throws: `APIError` about a value that is not understood: what was found, what was expected.
    init(
        _ query: RequestQuery, for route: Route, now: WallTime = .now()
    ) throws(APIError) {
        var functions: [String] = []
        var apps: [String] = []
        var services: Set<ServiceType> = []
        var priority = TrafficPriority.debug
        var seen: Set<MessageQueryKey> = []
        for (name, text) in query.items {
            let key = try Self.key(name, for: route)
            guard seen.insert(key).inserted || key.isRepeatable else {
                throw APIError(.badRequest, "\"\(key.rawValue)\" is given twice; expected once")
            }
            switch key {
            case .after: after = UInt64(try Self.number(text, key, 0...Int.max))
            case .instance: instance = text
            case .limit: limit = try Self.number(text, key, Self.limits)
            case .last: last = try Self.number(text, key, Self.lastLimits)
            case .follow: follows = try Self.flag(text, key)
            case .app: apps.append(text)
            case .function: functions.append(text)
            case .type:
                filter.kinds.insert(try Self.word(text, key, MessageFilter.allKinds) { $0 })
            case .service:
                services.insert(
                    try Self.word(text, key, ServiceType.allCases.map(\.name)) {
                        ServiceType(name: $0)
                    })
            case .priority:
                let level = try Self.word(text, key, TrafficPriority.allCases.map(\.name)) {
                    TrafficPriority(name: $0)
                }
                priority = max(priority, level)
            case .failed: if try Self.flag(text, key) { priority = max(priority, .warning) }
            case .slowerThan:
                let milliseconds = try Self.number(text, key, Self.latencyLimits)
                filter.slowerThan = Int64(milliseconds) * 1_000_000
            case .filter: filter.expression = try Self.expression(text)
            case .since: filter.since = try Self.time(text, key, now: now)
            case .format:
                content = try Self.word(
                    text, key, MessageFormatter.Content.allCases.map(\.rawValue)
                ) { MessageFormatter.Content(rawValue: $0) }
            case .color: hasColours = try Self.flag(text, key)
            }
        }
        do {
            filter.traffic = try TrafficFilter(
                apps: apps, functions: functions, services: services, minimumPriority: priority)
            filter.traffic.isStrict = true
        } catch {
            throw APIError(.badRequest, "\(error)")
        }
    }

    /// The query; when it names no cursor, where a browser goes on that reconnects.
    init(_ request: ControlRequest, for route: Route) throws(APIError) {
        try self.init(try RequestQuery(request.head.uri), for: route)
        guard after == nil, let last = StreamFraming.lastEvent(request) else { return }
        (instance, after) = (last.instance, UInt64(clamping: last.after))
    }

    private static func keys(for route: Route) -> [MessageQueryKey] {
        switch route {
        case .list: MessageQueryKey.allCases.filter { $0 != .last && $0 != .follow }
        case .stream: MessageQueryKey.allCases.filter { $0 != .limit }
        case .events: [.after, .instance, .limit]
        case .eventStream: [.after, .instance, .last, .follow]
        }
    }

    private static func key(
        _ name: String, for route: Route
    ) throws(APIError) -> MessageQueryKey {
        let keys = keys(for: route)
        if let key = keys.first(where: { $0.rawValue == name }) { return key }
        let known = keys.map(\.rawValue)
        let hint = Spelling.nearest(name, in: known).map { "; did you mean \"\($0)\"?" }
        let shown = PrintableText.string(name, limit: 40)
        throw APIError(
            .badRequest,
            "there is no \"\(shown)\" in the query; known: "
                + known.joined(separator: ", ") + (hint ?? ""))
    }

    // MARK: Values

    private static func number(
        _ text: String, _ key: MessageQueryKey, _ range: ClosedRange<Int>
    ) throws(APIError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            let upTo = range.upperBound == .max ? " up" : " to \(range.upperBound)"
            throw mismatch(text, key, "a whole number from \(range.lowerBound)\(upTo)")
        }
        return number
    }

    private static func flag(_ text: String, _ key: MessageQueryKey) throws(APIError) -> Bool {
        guard text == "0" || text == "1" else { throw mismatch(text, key, "1 or 0") }
        return text == "1"
    }

    /// - Throws: `APIError` that says at which character.
    static func expression(_ text: String) throws(APIError) -> FilterExpression {
        do throws(FilterError) {
            return try FilterExpression(text, names: TrafficFilter.names)
        } catch {
            let problem = PrintableText.string(error.message, limit: 300)
            throw APIError(
                .badRequest, "filter, character \(error.range.lowerBound + 1): \(problem)",
                in: error.range)
        }
    }

    private static func word<Value>(
        _ text: String, _ key: MessageQueryKey, _ known: [String], _ value: (String) -> Value?
    ) throws(APIError) -> Value {
        guard known.contains(text), let value = value(text) else {
            throw mismatch(text, key, "one of " + known.joined(separator: ", "))
        }
        return value
    }

    private static func time(
        _ text: String, _ key: MessageQueryKey, now: WallTime
    ) throws(APIError) -> WallTime {
        if text.hasPrefix("-"), let back = Quantity.duration(String(text.dropFirst())) {
            let (seconds, attoseconds) = back.components
            let nanoseconds = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let past = now.nanoseconds.subtractingReportingOverflow(
                nanoseconds.partialValue &+ attoseconds / 1_000_000_000)
            return WallTime(
                nanoseconds: nanoseconds.overflow || past.overflow ? 0 : past.partialValue)
        }
        guard let time = Timestamp(text) else {
            throw mismatch(
                text, key,
                "a time like 2026-11-21T10:31:07Z (RFC 3339, UTC) or a duration back like -30s")
        }
        // Years that a WallTime does not reach (1677 to 2262) are as good as its ends.
        let (nanoseconds, overflow) = time.millisecondsSince1970.multipliedReportingOverflow(
            by: 1_000_000)
        let end: Int64 = time.millisecondsSince1970 < 0 ? .min : .max
        return WallTime(nanoseconds: overflow ? end : nanoseconds)
    }

    private static func mismatch(
        _ text: String, _ key: MessageQueryKey, _ expected: String
    ) -> APIError {
        let shown = PrintableText.string(text, limit: 100)
        return APIError(.badRequest, "\(key.rawValue) is \"\(shown)\"; expected \(expected)")
    }
}
