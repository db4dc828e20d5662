/// The answer to `GET /v1/apps`: the apps of the status alone.
package struct AppList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// One entry per app connected now, oldest first.
    package var apps: [AppStatus]
    /// The apps that left last, newest first.
    package var recentDepartures: [AppDeparture]

    package init(_ status: StatusSnapshot) {
        apps = status.apps
        recentDepartures = status.recentDepartures
    }

    enum CodingKeys: String, CodingKey {
        case schema, apps
        case recentDepartures = "recent_departures"
    }
}
