// Plain integers counted on the event loop and read by snapshot.

/// What one peer has sent and received.
package struct TrafficCounters: Sendable, Equatable {
    /// Frames and bytes that came from the peer.
    package var framesIn: UInt64 = 0
    package var bytesIn: UInt64 = 0
    /// Frames and bytes that were passed on to the peer.
    package var framesOut: UInt64 = 0
    package var bytesOut: UInt64 = 0

    package init() {}

    @inline(__always)
    mutating func received(_ bytes: Int) {
        framesIn &+= 1
        bytesIn &+= UInt64(bytes)
    }

    @inline(__always)
    mutating func sent(_ bytes: Int) {
        framesOut &+= 1
        bytesOut &+= UInt64(bytes)
    }
}

/// How often a limit was hit, for the status page.
package struct LimitHits: Sendable, Equatable {
    package var count: UInt64 = 0
    package var lastAt: WallTime?

    mutating func hit(at time: WallTime) {
        count += 1
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
