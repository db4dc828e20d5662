import ControlAPI
import MessageFilters
import NIOHTTP1
import RelayCore
import SDLProtocol
import SDLTraffic

/// A client's request for the kept messages, read from the query: cursor, filters, format.
struct MessageRequest: Sendable {
    enum Route: Sendable {
        case list
        case stream
    }

    var cursor = QueryCursor()
    var limit = Self.defaultLimit
    var last: Int?
    var follows = true
    var filter = MessageFilter.everything
    var content = MessageFormatter.Content.json
    var hasColours = false

    /// Default number of messages in a list: a screen or two for a person with curl.
    static let defaultLimit = 100
    /// A reader that wants more uses the stream, or asks again with the cursor.
    static let limits = 1...1000
    /// More than any ring holds.
    static let lastLimits = 0...10_000_000
    /// A day, in milliseconds: nobody waits longer for an answer.
    static let latencyLimits = 0...86_400_000

    /// - Throws: `APIError` about an invalid value: what was found, what was expected.
    init(
        _ query: RequestQuery, for route: Route, now: WallTime = .now()
    ) throws(APIError) {
        var functions: [String] = []
        var apps: [String] = []
        var services: Set<ServiceType> = []
        var priority = TrafficPriority.debug
        var reader = QueryReader(query, known: Self.keys(for: route))
        while let (key, value) = try reader.next() {
            switch key {
            case .after: cursor.after = UInt64(try value.number(0...Int.max))
            case .instance: cursor.instance = value.text
            case .limit: limit = try value.number(Self.limits)
            case .last: last = try value.number(Self.lastLimits)
            case .follow: follows = try value.flag()
            case .app: apps.append(value.text)
            case .function: functions.append(value.text)
            case .type: filter.kinds.insert(try value.word(of: MessageFilter.allKinds) { $0 })
            case .service:
                services.insert(
                    try value.word(of: ServiceType.allCases.map(\.name)) { ServiceType(name: $0) })
            case .priority:
                let level = try value.word(of: TrafficPriority.allCases.map(\.name)) {
                    TrafficPriority(name: $0)
                }
                priority = max(priority, level)
            case .failed: if try value.flag() { priority = max(priority, .warning) }
            case .slowerThan:
                let milliseconds = try value.number(Self.latencyLimits)
                filter.slowerThan = Int64(milliseconds) * 1_000_000
            case .filter: filter.expression = try Self.expression(value.text)
            case .since: filter.since = try Self.time(value, now: now)
            case .format:
                content = try value.word(of: MessageFormatter.Content.allCases.map(\.rawValue)) {
                    MessageFormatter.Content(rawValue: $0)
                }
            case .color: hasColours = try value.flag()
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

    /// Reads the query; if it has no cursor, a browser that reconnects resumes where it stopped.
    init(_ request: ControlRequest, for route: Route) throws(APIError) {
        try self.init(try RequestQuery(request.head.uri), for: route)
        cursor.resume(request)
    }

    private static func keys(for route: Route) -> [MessageQueryKey] {
        switch route {
        case .list: MessageQueryKey.allCases.filter { $0 != .last && $0 != .follow }
        case .stream: MessageQueryKey.allCases.filter { $0 != .limit }
        }
    }

    // MARK: Values

    /// - Throws: `APIError` with the position of the mistake.
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

    private static func time(
        _ value: QueryValue, now: WallTime
    ) throws(APIError) -> WallTime {
        let text = value.text
        if text.hasPrefix("-"), let back = Quantity.duration(String(text.dropFirst())) {
            let (seconds, attoseconds) = back.components
            let nanoseconds = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let past = now.nanoseconds.subtractingReportingOverflow(
                nanoseconds.partialValue &+ attoseconds / 1_000_000_000)
            return WallTime(
                nanoseconds: nanoseconds.overflow || past.overflow ? 0 : past.partialValue)
        }
        guard let time = Timestamp(text) else {
            throw value.mismatch(
                "a time like 2026-11-21T10:31:07Z (RFC 3339, UTC) or a duration back like -30s")
        }
        // Times outside the range of a WallTime (1677 to 2262) are clamped to its ends.
        let (nanoseconds, overflow) = time.millisecondsSince1970.multipliedReportingOverflow(
            by: 1_000_000)
        let end: Int64 = time.millisecondsSince1970 < 0 ? .min : .max
        return WallTime(nanoseconds: overflow ? end : nanoseconds)
    }
}
