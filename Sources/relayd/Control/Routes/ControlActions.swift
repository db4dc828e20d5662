package import ControlAPI
package import RelayCore

/// The actions of clients of the control socket, as closures connected by `Daemon`.
package struct ControlActions: Sendable {
    /// Ends an app's sessions and its connection; false when it has left by itself.
    package var disconnect: @Sendable (AppID, _ reason: String?) async throws -> Bool
    /// Closes and reopens the link, or retries at once if it is waiting.
    package var reopen: @Sendable (_ reason: String?) async throws -> Void
    /// Lets apps connect, or disconnects them; returns what was done.
    ///
    /// - Throws: `APIError` for people.
    package var setServer: @Sendable (_ isActive: Bool) async throws -> String
    /// Reads the configuration again and applies it.
    ///
    /// - Throws: `APIError` with all problems of the configuration.
    package var reload: @Sendable () async throws -> ReloadReport

    /// For a server without a relay behind it.
    package static let none = ControlActions(
        disconnect: { _, _ in false }, reopen: { _ in }, setServer: { _ in "nothing to do" },
        reload: { ReloadReport(summary: "nothing to do") })
}
