/// The counts of the traffic since relayd started: the answer to `GET /v1/stats`. Counted from decoded
/// traffic: what observers missed is in `unseen`.
package struct StatsReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// When counting began, and when the counts were read: rates are differences between two reports.
    package var since: Timestamp
    package var at: Timestamp
    /// By app, service and direction.
    package var traffic: [LaneReport]
    /// By function, the most frequent first.
    package var functions: [FunctionReport]
    /// By app and function, the most frequent first; nil from an older relayd that does not count this.
    package var apps: [AppFunctionReport]?
    /// Messages of a vehicle interface and its clients, by kind. Nil with a head unit, for which the
    /// above is counted.
    package var vehicle: [VehicleLaneReport]?
    /// Frames that were not forwarded, by reason.
    package var dropped: [String: Int]
    /// Requests whose answer was late or never came.
    package var unanswered: Int
    /// Frames that were forwarded but not counted here.
    package var unseen: Int

    package init(
        since: Timestamp, at: Timestamp, traffic: [LaneReport], functions: [FunctionReport],
        apps: [AppFunctionReport]? = nil, dropped: [String: Int], unanswered: Int, unseen: Int
    ) {
        self.since = since
        self.at = at
        self.traffic = traffic
        self.functions = functions
        self.apps = apps
        self.dropped = dropped
        self.unanswered = unanswered
        self.unseen = unseen
    }
}

/// Traffic of one service, in one direction, for the apps of one name.
package struct LaneReport: Codable, Sendable, Equatable {
    /// The name it registered with; "unregistered" before, "other" when there are too many names.
    package var app: String
    /// "control", "rpc", "audio", "video" or "bulk".
    package var service: String
    /// The sender: "app" or "accessory".
    package var from: String
    package var frames: Int
    /// Payload bytes, without frame headers.
    package var bytes: Int

    package init(app: String, service: String, from: String, frames: Int, bytes: Int) {
        self.app = app
        self.service = service
        self.from = from
        self.frames = frames
        self.bytes = bytes
    }
}

/// Number of messages of one kind from one side.
package struct VehicleLaneReport: Codable, Sendable, Equatable {
    /// As in the stream of messages.
    package var kind: VehicleMessageKind
    /// The sender: "vehicle", "client", "api" or "relayd".
    package var from: VehicleParty
    package var messages: Int

    package init(kind: VehicleMessageKind, from: VehicleParty, messages: Int) {
        self.kind = kind
        self.from = from
        self.messages = messages
    }
}

/// How often one RPC was used, with what result, and how long answers took.
package struct FunctionReport: Codable, Sendable, Equatable {
    /// Name in the specification, or "other".
    package var function: String
    package var requests: Int
    package var responses: Int
    package var notifications: Int
    /// Responses by result code; "other" for codes that are in no specification.
    package var results: [String: Int]
    /// true: an answer waits for a person to read, say or choose something. Otherwise nil.
    package var waitsForPeople: Bool?
    /// For its responses: mean and longest time since the request, in milliseconds.
    package var meanMilliseconds: Double?
    package var maximumMilliseconds: Double?
    /// The fastest 50, 95 and 99 percent took at most this long, in milliseconds; off by 3.1 % at most.
    package var p50Milliseconds: Double?
    package var p95Milliseconds: Double?
    package var p99Milliseconds: Double?

    package init(
        function: String, requests: Int, responses: Int, notifications: Int,
        results: [String: Int], waitsForPeople: Bool? = nil
    ) {
        self.function = function
        self.requests = requests
        self.responses = responses
        self.notifications = notifications
        self.results = results
        self.waitsForPeople = waitsForPeople
    }

    enum CodingKeys: String, CodingKey {
        case function, requests, responses, notifications, results
        case waitsForPeople = "waits_for_people"
        case meanMilliseconds = "mean_ms"
        case maximumMilliseconds = "max_ms"
        case p50Milliseconds = "p50_ms"
        case p95Milliseconds = "p95_ms"
        case p99Milliseconds = "p99_ms"
    }
}

/// How often the apps of one name used one RPC, and how long answers took.
package struct AppFunctionReport: Codable, Sendable, Equatable {
    /// The name it registered with; "unregistered" before, "other" when there are too many combinations.
    package var app: String
    /// Name in the specification, or "other".
    package var function: String
    package var requests: Int
    package var responses: Int
    package var notifications: Int
    /// Responses that report a request as not carried out.
    package var failed: Int
    /// true: an answer waits for a person to read, say or choose something. Otherwise nil.
    package var waitsForPeople: Bool?
    /// For its responses: mean and longest time since the request, in milliseconds.
    package var meanMilliseconds: Double?
    package var maximumMilliseconds: Double?
    /// The fastest 50, 95 and 99 percent took at most this long, in milliseconds; off by 3.1 % at most.
    package var p50Milliseconds: Double?
    package var p95Milliseconds: Double?
    package var p99Milliseconds: Double?

    package init(
        app: String, function: String, requests: Int, responses: Int, notifications: Int,
        failed: Int, waitsForPeople: Bool? = nil
    ) {
        self.app = app
        self.function = function
        self.requests = requests
        self.responses = responses
        self.notifications = notifications
        self.failed = failed
        self.waitsForPeople = waitsForPeople
    }

    enum CodingKeys: String, CodingKey {
        case app, function, requests, responses, notifications, failed
        case waitsForPeople = "waits_for_people"
        case meanMilliseconds = "mean_ms"
        case maximumMilliseconds = "max_ms"
        case p50Milliseconds = "p50_ms"
        case p95Milliseconds = "p95_ms"
        case p99Milliseconds = "p99_ms"
    }
}
