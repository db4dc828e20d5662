/// Something that happened to relayd, its link or its apps: an entry of `GET /v1/events`, a line of
/// `GET /v1/events/stream`.
package struct RelayEvent: Codable, Sendable, Equatable {
    /// Counts events from 1; the greatest one seen is the cursor to go on from.
    package var n: Int
    package var at: Timestamp
    /// Kind of the event.
    package var event: RelayEventKind
    /// A description for people; the wording may change.
    package var text: String
    /// Number of the app's connection, and its name, where the event is about an app.
    package var app: Int?
    package var appName: String?
    /// For advice: its code; for a limit: its name.
    package var code: String?
    /// For a limit: how often it was hit; for missed frames: how many.
    package var count: Int?

    package init(
        n: Int, at: Timestamp, event: RelayEventKind, text: String, app: Int? = nil,
        appName: String? = nil, code: String? = nil, count: Int? = nil
    ) {
        self.n = n
        self.at = at
        self.event = event
        self.text = text
        self.app = app
        self.appName = appName
        self.code = code
        self.count = count
    }

    enum CodingKeys: String, CodingKey {
        case n, at, event, text, app
        case appName = "app_name"
        case code, count
    }
}

/// Kinds of events; the list may grow.
package struct RelayEventKind: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The link to the head unit was opened or closed; `text` has the reason.
    package static let linkOpened = RelayEventKind(rawValue: "link_opened")
    package static let linkClosed = RelayEventKind(rawValue: "link_closed")
    package static let appConnected = RelayEventKind(rawValue: "app_connected")
    /// The head unit has accepted the app's registration.
    package static let appRegistered = RelayEventKind(rawValue: "app_registered")
    /// The app's connection ended; `text` has the reason.
    package static let appLeft = RelayEventKind(rawValue: "app_left")
    /// Something is probably wrong; `code` has a page (`relayctl explain`).
    package static let advice = RelayEventKind(rawValue: "advice")
    /// A limit was hit for the first time, or 2, 4, 8, … times.
    package static let limit = RelayEventKind(rawValue: "limit")
    /// A peer stalled or sent bytes that are not frames, or a recording's disk accepts no data.
    package static let notice = RelayEventKind(rawValue: "notice")
    /// Frames were forwarded that no observer has seen.
    package static let missed = RelayEventKind(rawValue: "missed")
    /// Somebody changed something through the control API.
    package static let control = RelayEventKind(rawValue: "control")
}

/// The answer to `GET /v1/events`.
package struct EventList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Identifies the run of relayd that the numbers belong to.
    package var instance: String
    /// Numbers of the oldest and the latest event kept; absent when there is none.
    package var first: Int?
    package var latest: Int?
    /// Events between the cursor and the first one still kept.
    package var missed: Int
    /// The cursor to go on from.
    package var next: Int
    /// Oldest first.
    package var events: [RelayEvent]

    package init(
        instance: String, first: Int?, latest: Int?, missed: Int, next: Int, events: [RelayEvent]
    ) {
        self.instance = instance
        self.first = first
        self.latest = latest
        self.missed = missed
        self.next = next
        self.events = events
    }
}
