// Bodies of requests that change something, and the answers.
//
// A body is one JSON object; an empty body counts as `{}`. Members that are left out stay as they are;
// unknown members are refused, because a misspelt one must not seem to have been applied.

/// A body of `POST` or `PUT`.
package protocol ControlBody: Codable, Sendable {
    /// The members that are allowed.
    static var members: [String] { get }
}

/// The body of `POST /v1/apps/:app/disconnect` and of `POST /v1/link/reopen`.
package struct ReasonRequest: ControlBody, Equatable {
    /// For the log and for "left recently": one line, at most `maximumScalars`.
    package var reason: String?

    package static let members = ["reason"]
    package static let maximumScalars = 200

    package init(reason: String? = nil) { self.reason = reason }
}

/// The body of `PUT /v1/server`.
package struct ServerRequest: ControlBody, Equatable {
    /// Whether apps may connect.
    package var active: Bool

    package static let members = ["active"]

    package init(active: Bool) { self.active = active }
}

/// The body of `POST /v1/record/start` and of `POST /v1/record/save`.
package struct RecordRequest: ControlBody, Equatable {
    /// The name of the recording, besides its time.
    package var name: String?

    package static let members = ["name"]

    package init(name: String? = nil) { self.name = name }
}

/// The body of `POST /v1/record/mark`.
package struct MarkRequest: ControlBody, Equatable {
    /// A note to find the place again: one line, at most `maximumScalars`.
    package var text: String

    package static let members = ["text"]
    package static let maximumScalars = 500

    package init(text: String) { self.text = text }
}

/// The body of `POST /v1/record/stop`: nothing.
package struct EmptyRequest: ControlBody, Equatable {
    package static let members: [String] = []

    package init() {}
}

/// The body of `PUT /v1/log`, and, with all members set, the answer to it and to `GET /v1/log`.
package struct LogSettings: ControlBody, Equatable {
    /// Version of the JSON layout: 1. Always present in an answer, so that it may be sent back.
    package var schema: Int?
    /// relayd's own messages of at least this severity: "error", "warning", "notice", "info", "debug" or
    /// "trace".
    package var level: String?
    /// Whether decoded traffic is logged.
    package var traffic: Bool?
    /// Only traffic that this filter accepts; empty = all. Documentation/filters.md has the language.
    package var filter: String?
    /// Only traffic of these apps (name, app ID, "1" or "#1"); empty = all.
    package var apps: [String]?
    /// Only these functions, or with "!" in front, all but these; empty = all.
    package var functions: [String]?
    /// Only these services: "control", "rpc", "audio", "video", "bulk"; empty = all.
    package var services: [String]?

    package static let members = [
        "schema", "level", "traffic", "filter", "apps", "functions", "services",
    ]

    package init(
        schema: Int? = nil, level: String? = nil, traffic: Bool? = nil, filter: String? = nil,
        apps: [String]? = nil, functions: [String]? = nil, services: [String]? = nil
    ) {
        self.schema = schema
        self.level = level
        self.traffic = traffic
        self.filter = filter
        self.apps = apps
        self.functions = functions
        self.services = services
    }
}

/// The answer to a request that changed something.
package struct ActionReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// What was done, in one sentence.
    package var summary: String

    package init(summary: String) { self.summary = summary }
}

/// The answer to `POST /v1/reload`.
package struct ReloadReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// What was done, in one sentence.
    package var summary: String
    /// Options that have a new value now.
    package var changed: [String]
    /// Options whose new value takes effect at the next start.
    package var needsRestart: [String]

    package init(summary: String, changed: [String] = [], needsRestart: [String] = []) {
        self.summary = summary
        self.changed = changed
        self.needsRestart = needsRestart
    }

    enum CodingKeys: String, CodingKey {
        case schema, summary, changed
        case needsRestart = "needs_restart"
    }
}
