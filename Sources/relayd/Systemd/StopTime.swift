import AccessoryLinks
import NIOCore

/// The longest time relayd needs to stop: one number for the option, the service group and systemd.
///
/// The steps follow each other: the head unit confirms the end of its sessions, the link is closed, the
/// remaining traffic is decoded, the flight recorder's last files are written, the control API's clients
/// take their last answers, and then the last lines of the log are written.
package struct StopTime: Sendable {
    /// Longest `sessions.farewell_timeout`.
    package static let maximumFarewell = Duration.seconds(60)

    /// Longest time for decoding what is queued. This takes milliseconds, unless other programs keep
    /// all processors busy: then the observers get almost no processor time (see `ThreadScheduling`).
    static let observing = Duration.seconds(4)

    /// Longest time for files of the flight recorder: one that is being written, and one that is due. A recording
    /// that is just beginning has the same time.
    static let saving = Duration.seconds(3)

    /// For the link, the observers, the flight recorder and the last answers, and a margin for a busy machine.
    private static let closing =
        Duration(LinkSupervisor.closeLimit) + observing + saving + EndPatience.longest
        + .seconds(2)

    /// When the stop is cut short, everything still running is cancelled, and what cannot be
    /// cancelled ends with the process after this time.
    package static let grace = Duration.seconds(1)

    /// The last part: for the lines of the log, or for the `grace` of a stop that was cut short.
    private static let ending = max(EndPatience.longest, grace)

    /// How long the head unit has to confirm the end of its sessions: `sessions.farewell_timeout`,
    /// which a reload may change.
    private let farewell: @Sendable () -> Duration

    package init(
        farewell: @escaping @Sendable () -> Duration = { Duration(Config().hub.farewellTimeout) }
    ) {
        self.farewell = farewell
    }

    /// The total time; systemd is asked for this much.
    package var needed: Duration { untilCutShort + Self.ending }

    /// The time after which the stop is cut short.
    package var untilCutShort: Duration { farewell() + Self.closing }
}
