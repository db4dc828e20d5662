// How long a stop may take: one number for the option, the service group and systemd.

/// The time a stopping relayd needs at most.
package enum StopTime {
    /// Longest `sessions.farewell_timeout`.
    package static let maximumFarewell = Duration.seconds(60)

    /// For all that is not the head unit's: closing apps and the link, writing the last lines.
    private static let rest = Duration.seconds(10)

    /// The last part of it: what has not ended by then is cancelled, and what cannot be cancelled
    /// ends with the process.
    package static let grace = Duration.seconds(1)

    /// With this `sessions.farewell_timeout`; systemd is asked for as much.
    package static func needed(farewell: Duration) -> Duration { farewell + rest }
}
