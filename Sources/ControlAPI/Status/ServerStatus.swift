/// Where apps connect: third line of the status.
///
/// Filled by the daemon from its app listeners; wildcard addresses are expanded there, because
/// only that machine knows its interfaces.
package struct ServerStatus: Codable, Sendable, Equatable {
    /// Whether apps can connect.
    package let state: ServerState
    /// Every address:port an app can use, e.g. "127.0.0.1:2776", "192.168.1.20:2776",
    /// "[fe80::1%eth0]:2776": never a wildcard, so each can be typed into an app.
    package let endpoints: [String]
    /// Open app connections.
    package let connections: Int
    /// Connections refused since start (too many apps, no head unit, …).
    package let refusedCount: Int
    /// Why it does not listen, e.g. "127.0.0.1:2776: address already in use".
    package let reason: String?
    /// True when the sockets are systemd's (relayd.socket): `listen` in the configuration is ignored
    /// then. Left out when relayd opened them itself.
    package let inherited: Bool?

    package init(
        state: ServerState, endpoints: [String] = [], connections: Int = 0, refusedCount: Int = 0,
        reason: String? = nil, inherited: Bool? = nil
    ) {
        self.state = state
        self.endpoints = endpoints
        self.connections = connections
        self.refusedCount = refusedCount
        self.reason = reason
        self.inherited = inherited
    }

    enum CodingKeys: String, CodingKey {
        case state, endpoints, connections
        case refusedCount = "refused_count"
        case reason, inherited
    }
}

/// State of the app listeners.
package struct ServerState: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Apps can connect to every endpoint listed.
    package static let listening = ServerState(rawValue: "listening")
    /// Not listening, on purpose: relayd is starting or stopping.
    package static let stopped = ServerState(rawValue: "stopped")
    /// Not listening, because somebody switched it off; `reason` says how to switch it on.
    package static let off = ServerState(rawValue: "off")
    /// Not listening, although it should; `reason` says why.
    package static let failed = ServerState(rawValue: "failed")
}
