/// What travels over the open accessory: second line of the status, "session link".
///
/// Filled by the switchboard; all zero while no accessory is open.
package struct LinkStatus: Codable, Sendable, Equatable {
    /// The state in one phrase.
    package let state: LinkState
    /// Open sessions: those of connected apps and those in farewell.
    package let sessions: Int
    /// Sessions of apps that left, whose end the head unit has not confirmed yet.
    package let sessionsInFarewell: Int
    /// StartService requests of apps that are waiting for their turn; one at a time is sent.
    package let startServiceQueue: Int
    /// Highest protocol version the head unit granted on this link, e.g. "5.4.0".
    package let protocolVersion: String?
    /// Whether apps are being held back because the head unit takes bytes too slowly.
    package let paused: Bool
    /// Rate at which the head unit takes bytes, per second, measured while frames had to wait for it;
    /// left out until some had to.
    package var drainBytesPerSecond: Int?
    /// Bytes written to the head unit that have not left this computer, as far as the kernel can
    /// tell; left out while no accessory is open.
    package var bytesInFlight: Int?
    /// Bytes from apps that are waiting for the link.
    package let queueBytes: Int?

    package init(
        state: LinkState, sessions: Int = 0, sessionsInFarewell: Int = 0,
        startServiceQueue: Int = 0, protocolVersion: String? = nil, paused: Bool = false,
        queueBytes: Int? = nil
    ) {
        self.state = state
        self.sessions = sessions
        self.sessionsInFarewell = sessionsInFarewell
        self.startServiceQueue = startServiceQueue
        self.protocolVersion = protocolVersion
        self.paused = paused
        self.queueBytes = queueBytes
    }

    enum CodingKeys: String, CodingKey {
        case state, sessions
        case sessionsInFarewell = "sessions_in_farewell"
        case startServiceQueue = "start_service_queue"
        case protocolVersion = "protocol_version"
        case paused
        case drainBytesPerSecond = "drain_bytes_per_second"
        case bytesInFlight = "bytes_in_flight"
        case queueBytes = "queue_bytes"
    }
}

/// State of the session link.
package struct LinkState: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The accessory is not open.
    package static let noAccessory = LinkState(rawValue: "no_accessory")
    /// The accessory is open; no app has asked for a session.
    package static let idle = LinkState(rawValue: "idle")
    /// An app asked for its first session and the head unit has not answered yet.
    package static let startingSession = LinkState(rawValue: "starting_session")
    /// At least one session is open.
    package static let sessions = LinkState(rawValue: "sessions")
}
