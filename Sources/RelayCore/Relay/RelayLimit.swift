// The limits of the hub, and how often they were hit.

/// How often a limit was hit, for the status page.
package struct LimitHits: Sendable, Equatable {
    package var count: UInt64 = 0
    package var lastAt: WallTime?
    /// When the run of hits began that `lastAt` ends: no two of its hits are more than `pause` apart.
    package var beganAt: WallTime?

    /// Nanoseconds without a hit after which the next one begins a new run.
    package static let pause: Int64 = 10_000_000_000

    mutating func add(at time: WallTime) {
        count += 1
        // A clock that was set back begins a new run, too.
        let since = lastAt.map { time.nanoseconds &- $0.nanoseconds } ?? .max
        if since < 0 || since > Self.pause { beganAt = time }
        lastAt = time
    }
}

/// The limits of the hub by the names of their options.
package enum RelayLimit: String, Sendable, CaseIterable {
    case maximumApps = "apps.maximum"
    case allow = "apps.allow"
    case connectionsPerSecond = "apps.connections_per_second"
    case silentTimeout = "apps.silent_timeout"
    case appQueue = "apps.queue_limit"
    /// The link has waited for a slow app.
    case stallGrace = "apps.stall_grace"
    case framesPerSecond = "apps.frames_per_second"
    case messageBytes = "apps.message_limit"
    case linkQueue = "limits.link_queue"
    case tapQueue = "limits.tap_queue"
    case pendingStarts = "apps.pending_starts"
    /// Sessions of one link: the protocol's own limit.
    case sessions = "sessions"
    /// The system gave no more descriptors or memory; named as systemd and users know it.
    case descriptors = "LimitNOFILE"

    /// Session IDs are a byte, and 0 is none (SDL protocol spec, "Frame header").
    package static let sessionsOfALink = 255
}
