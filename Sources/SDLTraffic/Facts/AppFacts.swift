package import RelayCore
package import SDLProtocol

/// The facts of one app connection; kept by `FactsTable`, shown by status and `relayctl app`. With several
/// sessions on the connection, the latest value counts. Text from peers is made printable, and everything is
/// bounded by `FactLimits`.
package struct AppFacts: Hashable, Sendable {
    /// The registered name; kept after unregistering, until the connection closes.
    package var name: String?
    package var appID: String?
    /// Whether the head unit has accepted its registration, and it has not ended since.
    package var isRegistered = false
    /// The level of the main window; nil before the first OnHMIStatus.
    package var hmiLevel: HMILevel?
    /// AUDIBLE, ATTENUATED or NOT_AUDIBLE.
    package var audioStreamingState: String?
    /// STREAMABLE or NOT_STREAMABLE; nil when the head unit does not say, which means STREAMABLE.
    package var videoStreamingState: String?
    /// MAIN, VRSESSION, MENU, HMI_OBSCURED or ALERT.
    package var systemContext: String?
    /// The full version of the session, "5.4.0", or only "4" if the ACK says no more.
    package var protocolVersion: String?
    /// The version in the head unit's answer to the registration.
    package var rpcVersion: SDLVersion?
    /// Running sessions, in order.
    package var sessions: [UInt8] = []
    /// "AddCommand #12: DISALLOWED (info)"; nil while everything succeeds.
    package var lastFailure: String?

    /// The latest registration, accepted or not.
    package var registration: RegistrationFacts?
    /// The OnHMIStatus of the main window, oldest first.
    package var hmiHistory: [HMIStatus] = []
    package var permissions = PermissionTable()
    package var capabilities = CapabilityFacts()
    package var files = FileFacts()
    package var subscriptions = SubscriptionFacts()
    package var menu = MenuFacts()
    /// Running services, in order.
    package var services: [ServiceFacts] = []
    /// Unanswered requests of either side, by number of entry.
    package var openRequests: [UInt64: OpenRequest] = [:]
    /// Requests of the app, and responses to them that were no success.
    package var requestCount = 0
    package var failureCount = 0

    package init() {}

    /// An app that was never told its level counts as not visible.
    package var isInNone: Bool { hmiLevel == nil || hmiLevel == HMILevel.none }
}

/// Limits on the facts of one app, whatever it and the head unit send.
enum FactLimits {
    /// Scalars of a name: the maximum of most names in the specification, including `appName` and `appID`.
    static let text = 100
    /// Scalars of a file name (MOBILE_API, "PutFile").
    static let fileName = 255
    /// Scalars of a vehicle data item; a gps object has some 400.
    static let value = 512
    /// Changes of the HMI status: some minutes of a busy bench.
    static let history = 32
    /// MOBILE_API, "OnPermissionsChange": 500 items of 100 parameters.
    static let permissions = 500
    static let parameters = 100
    /// MOBILE_API, "ListFiles".
    static let files = 1000
    /// sdl_core takes what memory allows; a menu of a thousand entries cannot be used.
    static let menuEntries = 1000
    /// The specification has some 40, head units add their own.
    static let vehicleData = 128
    static let buttons = 64
    static let capabilities = 64
    static let services = 16
    /// Requests remembered until they are answered; sdl_core refuses those of an app beyond 5000.
    static let openRequests = 1024

    /// Text from a peer in the form in which it is kept.
    static func text(_ text: String?, limit: Int = FactLimits.text) -> String? {
        text.map { PrintableText.string($0, limit: limit) }
    }
}

/// The app's RegisterAppInterface, and the answer to it.
package struct RegistrationFacts: Hashable, Sendable {
    package var requestedAt: WallTime
    package var requestedVersion: SDLVersion?
    package var isMediaApplication: Bool?
    /// appHMIType: DEFAULT, NAVIGATION, …
    package var hmiTypes: [String] = []
    /// Other names by which a person may call it.
    package var vrSynonyms: [String] = []
    package var languageDesired: String?
    package var hmiDisplayLanguageDesired: String?
    /// The request had the hash of an earlier session, to restore its commands and subscriptions.
    package var wantsResumption = false
    package var answeredAt: WallTime?
    package var resultCode: String?
    package var info: String?
    package var language: String?
    package var hmiDisplayLanguage: String?
    /// Whether the head unit still has the app's icon.
    package var iconResumed: Bool?
}

/// One OnHMIStatus of the main window.
package struct HMIStatus: Hashable, Sendable {
    package var time: WallTime
    package var level: HMILevel?
    package var audioStreamingState: String?
    package var videoStreamingState: String?
    package var systemContext: String?

    func saysSame(as other: HMIStatus) -> Bool {
        var other = other
        other.time = time
        return self == other
    }
}

/// A running service of a session.
package struct ServiceFacts: Hashable, Sendable {
    package var service: ServiceType
    package var sessionID: UInt8
    package var since: WallTime
    package var isProtected = false
    /// In bytes, from its ACK; what it counts differs between head units.
    package var mtu: Int?
    /// For video: "800×480 H264 RAW", from its ACK.
    package var format: String?
    /// For streams: from the latest summary.
    package var bitRate: Double?
    package var messageRate: Double?
    package var totalFrames = 0
    package var totalBytes = 0
    package var lastData: WallTime?

    package static func < (left: Self, right: Self) -> Bool {
        (left.sessionID, left.service.rawValue) < (right.sessionID, right.service.rawValue)
    }
}

/// An unanswered request, and the changes to make when it succeeds.
package struct OpenRequest: Hashable, Sendable {
    package var function: String
    package var correlationID: Int32?
    package var sessionID: UInt8
    package var direction: Direction
    package var time: WallTime
    var intent: Intent?
}
