package import ControlAPI
package import RelayCore

/// What clients of the control socket may do, as far as the control API knows of it: a closure
/// each, connected by `Daemon`.
package struct ControlActions: Sendable {
    /// Ends an app's sessions and its connection; false when it has left by itself.
    package var disconnect: @Sendable (AppID, _ reason: String?) async throws -> Bool
    /// Closes the link and opens it, or tries at once while it waits.
    package var reopen: @Sendable (_ reason: String?) async throws -> Void
    /// Lets apps connect, or sends them away; returns what was done.
    ///
    /// - Throws: `APIError` for people.
    package var setServer: @Sendable (_ isActive: Bool) async throws -> String
    /// Reads the configuration again and applies it.
    ///
    /// - Throws: `APIError` with everything that is wrong with it.
    package var reload: @Sendable () async throws -> ReloadReport

    /// For a server without a relay behind it.
    package static let none = ControlActions(
        disconnect: { _, _ in false }, reopen: { _ in }, setServer: { _ in "nothing to do" },
        reload: { ReloadReport(summary: "nothing to do") })
}
