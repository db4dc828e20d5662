/// The answer to `GET /v1/apps`: the apps of the status alone.
package struct AppList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// The accessory's protocol, which tells whether these are apps or clients of a vehicle interface.
    /// Left out by older versions, which knew only SDL.
    package var `protocol`: AccessoryProtocol?
    /// One entry per connected app, oldest first.
    package var apps: [AppStatus]
    /// The apps that left most recently, newest first.
    package var recentDepartures: [AppDeparture]

    package init(_ status: StatusSnapshot) {
        `protocol` = status.accessory.protocol
        apps = status.apps
        recentDepartures = status.recentDepartures
    }

    enum CodingKeys: String, CodingKey {
        case schema, `protocol`, apps
        case recentDepartures = "recent_departures"
    }
}
