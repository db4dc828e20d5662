import ControlAPI

/// A client's request for the kept events, read from the query. Events have cursors like messages, but no
/// filters.
struct EventRequest: Sendable {
    enum Route: Sendable {
        case list
        case stream
    }

    private enum Key: String, QueryKey {
        case after
        case instance
        case limit
        case last
        case follow

        var isRepeatable: Bool { false }
    }

    var cursor = QueryCursor()
    var limit = MessageRequest.defaultLimit
    var last: Int?
    var follows = true

    /// - Throws: `APIError` about an invalid value: what was found, what was expected.
    init(_ query: RequestQuery, for route: Route) throws(APIError) {
        var reader = QueryReader(query, known: Self.keys(for: route))
        while let (key, value) = try reader.next() {
            switch key {
            case .after: cursor.after = UInt64(try value.number(0...Int.max))
            case .instance: cursor.instance = value.text
            case .limit: limit = try value.number(MessageRequest.limits)
            case .last: last = try value.number(MessageRequest.lastLimits)
            case .follow: follows = try value.flag()
            }
        }
    }

    /// Reads the query; if it has no cursor, a browser that reconnects resumes where it stopped.
    init(_ request: ControlRequest, for route: Route) throws(APIError) {
        try self.init(try RequestQuery(request.head.uri), for: route)
        cursor.resume(request)
    }

    private static func keys(for route: Route) -> [Key] {
        switch route {
        case .list: [.after, .instance, .limit]
        case .stream: [.after, .instance, .last, .follow]
        }
    }
}
