import ControlAPI

/// Finds the app that a person means, even if it has just connected: facts about apps come from the
/// observers, which are some milliseconds behind the traffic.
struct AppFinder: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    /// Waits until the observers have caught up with the traffic, with a time limit.
    var catchUp: @Sendable () async -> Void = {}

    /// - Parameter wanted: Its number, name or app ID.
    /// - Throws: `APIError` that lists the connected apps.
    func find(_ wanted: String) async throws -> AppStatus {
        // An app with a known name has been seen by the observers.
        if let app = try? AppLookup(status: try await status()).find(wanted), app.appName != nil {
            return app
        }
        await catchUp()
        return try AppLookup(status: try await status()).find(wanted)
    }
}
