import ControlAPI

/// Finds the app that a person means, also one that has just come: what is known of apps comes from the
/// observers, which are some milliseconds behind the traffic.
struct AppFinder: Sendable {
    let status: @Sendable () async throws -> StatusSnapshot
    /// Waits until the observers have seen what has passed so far, within reason.
    var catchUp: @Sendable () async -> Void = {}

    /// - Parameter wanted: Its number, name or app ID.
    /// - Throws: `APIError` that lists who is there.
    func find(_ wanted: String) async throws -> AppStatus {
        // An app that is known by name has been seen.
        if let app = try? AppLookup(status: try await status()).find(wanted), app.appName != nil {
            return app
        }
        await catchUp()
        return try AppLookup(status: try await status()).find(wanted)
    }
}
