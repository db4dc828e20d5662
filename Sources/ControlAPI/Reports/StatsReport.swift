/// What has been counted in the traffic since relayd started: the answer to `GET /v1/stats`.
/// Counted from decoded traffic: what observers missed is in `unseen`.
package struct StatsReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// When counting began, and when this was read: rates are differences between two reports.
    package var since: Timestamp
    package var at: Timestamp
    /// By app, service and direction.
    package var traffic: [LaneReport]
    /// By function, the most frequent first.
    package var functions: [FunctionReport]
    /// Frames that were not forwarded, by reason.
    package var dropped: [String: Int]
    /// Requests whose answer was late or never came.
    package var unanswered: Int
    /// Frames that were forwarded without being counted here.
    package var unseen: Int

    package init(
        since: Timestamp, at: Timestamp, traffic: [LaneReport], functions: [FunctionReport],
        dropped: [String: Int], unanswered: Int, unseen: Int
    ) {
        self.since = since
        self.at = at
        self.traffic = traffic
        self.functions = functions
        self.dropped = dropped
        self.unanswered = unanswered
        self.unseen = unseen
    }
}

/// What went through one service of the apps of one name, one way.
package struct LaneReport: Codable, Sendable, Equatable {
    /// As it registered; "unregistered" before, "other" when there are too many names.
    package var app: String
    /// "control", "rpc", "audio", "video" or "bulk".
    package var service: String
    /// "app" or "accessory": who sent it.
    package var from: String
    package var frames: Int
    /// Payload bytes, frame headers not counted.
    package var bytes: Int

    package init(app: String, service: String, from: String, frames: Int, bytes: Int) {
        self.app = app
        self.service = service
        self.from = from
        self.frames = frames
        self.bytes = bytes
    }
}

/// How often one RPC was used, with what result, and how long answers took.
package struct FunctionReport: Codable, Sendable, Equatable {
    /// Name of the specification, or "other".
    package var function: String
    package var requests: Int
    package var responses: Int
    package var notifications: Int
    /// Responses by result code; "other" for codes that no specification has.
    package var results: [String: Int]
    /// Of its responses: mean and longest time since the request, in milliseconds.
    package var meanMilliseconds: Double?
    package var maximumMilliseconds: Double?

    package init(
        function: String, requests: Int, responses: Int, notifications: Int,
        results: [String: Int], meanMilliseconds: Double? = nil,
        maximumMilliseconds: Double? = nil
    ) {
        self.function = function
        self.requests = requests
        self.responses = responses
        self.notifications = notifications
        self.results = results
        self.meanMilliseconds = meanMilliseconds
        self.maximumMilliseconds = maximumMilliseconds
    }

    enum CodingKeys: String, CodingKey {
        case function, requests, responses, notifications, results
        case meanMilliseconds = "mean_ms"
        case maximumMilliseconds = "max_ms"
    }
}
