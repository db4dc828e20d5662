// How long a stop may take: one number for the option, the service group and systemd.

/// The time a stopping relayd needs at most. The service group and systemd ask the same one.
package struct StopTime: Sendable {
    /// Longest `sessions.farewell_timeout`.
    package static let maximumFarewell = Duration.seconds(60)

    /// For all that is not the head unit's: closing apps and the link, writing the last lines.
    private static let rest = Duration.seconds(10)

    /// The last part of it: what has not ended by then is cancelled, and what cannot be cancelled
    /// ends with the process.
    package static let grace = Duration.seconds(1)

    /// How long the head unit has to confirm the end of its sessions: `sessions.farewell_timeout`,
    /// which a reload may change.
    private let farewell: @Sendable () -> Duration

    package init(
        farewell: @escaping @Sendable () -> Duration = { Config().sessions.farewellTimeout }
    ) {
        self.farewell = farewell
    }

    /// All of it; systemd is asked for as much.
    package var needed: Duration { farewell() + Self.rest }

    /// After this the stop is cut short, which leaves the rest of the time for that.
    package var untilCutShort: Duration { needed - Self.grace }
}
