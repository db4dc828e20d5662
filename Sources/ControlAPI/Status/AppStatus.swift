/// One connected app: a row of the status.
///
/// The switchboard provides connection, sessions and counters. An observer reads name, app ID and HMI
/// level from the traffic, so they may lag a moment behind, and are only what the app and the head unit
/// said: text to be shown with care.
package struct AppStatus: Codable, Sendable, Equatable {
    /// Number of the connection, from 1, never reused by one relayd.
    package let id: Int
    /// The address it connects from, address:port.
    package let peer: String
    /// When it connected.
    package let connectedAt: Timestamp
    /// Its progress towards the head unit.
    package let state: AppState
    /// Its name, from RegisterAppInterface.
    package let appName: String?
    /// Its app ID, from RegisterAppInterface ("fullAppID" if given, else "appID").
    package let appID: String?
    /// Session ids it owns on the accessory, 1…255.
    package let sessions: [Int]
    /// Protocol version granted to it, e.g. "5.4.0".
    package let protocolVersion: String?
    /// Latest HMI level from the head unit: "FULL", "LIMITED", "BACKGROUND", "NONE".
    package let hmiLevel: String?
    /// Whole frames received from the app and forwarded.
    package let framesFromApp: Int
    /// Bytes received from the app.
    package let bytesFromApp: Int
    /// Whole frames sent to the app.
    package let framesToApp: Int
    /// Bytes sent to the app.
    package let bytesToApp: Int
    /// Bytes that are waiting because the app reads too slowly.
    package let queueBytes: Int
    /// Frames of the app that were not forwarded because it does not own their session. For a client of a
    /// vehicle interface: its messages that were not carried out.
    package let refusedFrames: Int
    /// Messages that a client of a vehicle interface missed because it did not read. Left out for apps.
    package var lostFrames: Int?
    /// The last problem of this app, in words.
    package let lastProblem: String?
    /// The latest probable problem, with its remedy; left out when it was last seen more than five
    /// minutes ago.
    package let advice: AdviceReport?

    package init(
        id: Int, peer: String, connectedAt: Timestamp, state: AppState, appName: String? = nil,
        appID: String? = nil, sessions: [Int] = [], protocolVersion: String? = nil,
        hmiLevel: String? = nil, framesFromApp: Int = 0, bytesFromApp: Int = 0,
        framesToApp: Int = 0, bytesToApp: Int = 0, queueBytes: Int = 0, refusedFrames: Int = 0,
        lastProblem: String? = nil, advice: AdviceReport? = nil
    ) {
        self.id = id
        self.peer = peer
        self.connectedAt = connectedAt
        self.state = state
        self.appName = appName
        self.appID = appID
        self.sessions = sessions
        self.protocolVersion = protocolVersion
        self.hmiLevel = hmiLevel
        self.framesFromApp = framesFromApp
        self.bytesFromApp = bytesFromApp
        self.framesToApp = framesToApp
        self.bytesToApp = bytesToApp
        self.queueBytes = queueBytes
        self.refusedFrames = refusedFrames
        self.lastProblem = lastProblem
        self.advice = advice
    }

    enum CodingKeys: String, CodingKey {
        case id, peer
        case connectedAt = "connected_at"
        case state
        case appName = "app_name"
        case appID = "app_id"
        case sessions
        case protocolVersion = "protocol_version"
        case hmiLevel = "hmi_level"
        case framesFromApp = "frames_from_app"
        case bytesFromApp = "bytes_from_app"
        case framesToApp = "frames_to_app"
        case bytesToApp = "bytes_to_app"
        case queueBytes = "queue_bytes"
        case refusedFrames = "refused_frames"
        case lostFrames = "lost_frames"
        case lastProblem = "last_problem"
        case advice
    }
}

/// How far an app has come on its way to the head unit.
package struct AppState: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The TCP connection is up; the app has asked for nothing yet.
    package static let connected = AppState(rawValue: "connected")
    /// It asked for a session, but no accessory is open; it is held without an answer.
    package static let waitingForHeadUnit = AppState(rawValue: "waiting_for_head_unit")
    /// Its StartService is queued or on its way; no StartServiceACK yet.
    package static let startingSession = AppState(rawValue: "starting_session")
    /// It owns a session; not registered yet.
    package static let sessionOpen = AppState(rawValue: "session_open")
    /// RegisterAppInterface succeeded.
    package static let registered = AppState(rawValue: "registered")
    /// It is saying goodbye, or relayd is closing it.
    package static let ending = AppState(rawValue: "ending")
}

/// An app that left, and why: for a while, this answers "why did it drop?".
package struct AppDeparture: Codable, Sendable, Equatable {
    /// The id it had in `apps`.
    package let id: Int
    /// The address it had connected from, address:port.
    package let peer: String
    /// Its name, if it got as far as registering.
    package let appName: String?
    /// When its connection ended.
    package let closedAt: Timestamp
    /// The reason in words, e.g. "the app closed the connection", "the head unit is gone".
    package let reason: String
    /// Its last problem, when it was not registered at the end.
    package let lastProblem: String?

    package init(
        id: Int, peer: String, appName: String? = nil, closedAt: Timestamp, reason: String,
        lastProblem: String? = nil
    ) {
        self.lastProblem = lastProblem
        self.id = id
        self.peer = peer
        self.appName = appName
        self.closedAt = closedAt
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey {
        case id, peer
        case appName = "app_name"
        case closedAt = "closed_at"
        case reason
        case lastProblem = "last_problem"
    }
}
