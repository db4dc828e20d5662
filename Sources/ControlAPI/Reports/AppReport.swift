/// Everything known about one app: the answer to `GET /v1/apps/ID-OR-NAME`.
///
/// The rules of `StatusSnapshot` apply here too: the JSON only grows, keys are snake_case, times are RFC
/// 3339 in UTC, sizes are bytes, and fields that do not apply are left out. Texts are those of the app
/// and the head unit, without control characters. Lists are bounded: a menu of thousands of entries is
/// cut.
package struct AppReport: Codable, Sendable, Equatable {
    /// The schema this relayd writes.
    package static let currentSchema = 1

    /// Version of the JSON layout: 1.
    package var schema = currentSchema
    /// The app's row of the status.
    package var app: AppStatus
    /// The latest RegisterAppInterface; left out before the first.
    package var registration: RegistrationReport?
    /// States of the main window from OnHMIStatus, newest first; the first is the current one.
    package var hmi: [HMIStatusReport] = []
    /// One per RPC the head unit named in OnPermissionsChange, by name.
    package var permissions: [PermissionReport] = []
    package var capabilities = CapabilityReport()
    package var files = FilesReport()
    package var subscriptions = SubscriptionsReport()
    package var menu = MenuReport()
    /// Running services of its sessions.
    package var services: [ServiceReport] = []
    /// Requests of either side that are waiting for their answer, oldest first.
    package var pending: [PendingReport] = []
    /// Requests the app made since it connected, and answers to them that were not successful.
    package var requests = 0
    package var failures = 0
    /// What is probably wrong, newest first.
    package var advice: [AdviceReport] = []

    package init(app: AppStatus) { self.app = app }
}

/// What the app asked for in RegisterAppInterface, and the answer.
package struct RegistrationReport: Codable, Sendable, Equatable {
    package var requestedAt: Timestamp
    /// `syncMsgVersion` of the request, and the version of the head unit's answer.
    package var requestedVersion: String?
    package var version: String?
    package var hmiTypes: [String] = []
    package var vrSynonyms: [String] = []
    package var isMedia: Bool?
    package var languageDesired: String?
    package var displayLanguageDesired: String?
    /// Whether the request had the hash of an earlier session, whose settings may have been restored
    /// without being seen here.
    package var wantsResumption = false
    /// Left out while the head unit has not answered.
    package var answeredAt: Timestamp?
    package var resultCode: String?
    package var info: String?
    package var language: String?
    package var displayLanguage: String?

    package init(requestedAt: Timestamp) { self.requestedAt = requestedAt }

    enum CodingKeys: String, CodingKey {
        case requestedAt = "requested_at"
        case requestedVersion = "requested_version"
        case version
        case hmiTypes = "hmi_types"
        case vrSynonyms = "vr_synonyms"
        case isMedia = "is_media"
        case languageDesired = "language_desired"
        case displayLanguageDesired = "display_language_desired"
        case wantsResumption = "wants_resumption"
        case answeredAt = "answered_at"
        case resultCode = "result_code"
        case info, language
        case displayLanguage = "display_language"
    }
}

/// One OnHMIStatus.
package struct HMIStatusReport: Codable, Sendable, Equatable {
    package var at: Timestamp
    /// FULL, LIMITED, BACKGROUND or NONE.
    package var level: String?
    package var audio: String?
    package var video: String?
    package var context: String?

    package init(
        at: Timestamp, level: String? = nil, audio: String? = nil, video: String? = nil,
        context: String? = nil
    ) {
        self.at = at
        self.level = level
        self.audio = audio
        self.video = video
        self.context = context
    }
}

/// What the head unit can show and play, as far as it has told this app. Sizes are in pixels.
package struct CapabilityReport: Codable, Sendable, Equatable {
    package var displayName: String?
    package var displayWidth: Int?
    package var displayHeight: Int?
    package var graphic: Bool?
    package var textFields: Int?
    package var imageFields: Int?
    package var templates: Int?
    package var buttons: Int?
    package var videoWidth: Int?
    package var videoHeight: Int?
    /// Kilobits per second.
    package var maximumVideoKilobits: Int?
    /// For example "H264/RAW".
    package var videoFormats: [String] = []
    /// Names of the reported capabilities, each once.
    package var reported: [String] = []

    package init() {}

    enum CodingKeys: String, CodingKey {
        case displayName = "display_name"
        case displayWidth = "display_width"
        case displayHeight = "display_height"
        case graphic
        case textFields = "text_fields"
        case imageFields = "image_fields"
        case templates, buttons
        case videoWidth = "video_width"
        case videoHeight = "video_height"
        case maximumVideoKilobits = "maximum_video_kilobits"
        case videoFormats = "video_formats"
        case reported
    }
}

/// Files of the app on the head unit.
package struct FilesReport: Codable, Sendable, Equatable {
    package var files: [FileReport] = []
    /// As last reported.
    package var spaceAvailable: Int?
    /// Whether the head unit was asked with ListFiles; otherwise there may be more files.
    package var isListed = false

    package init() {}

    enum CodingKeys: String, CodingKey {
        case files
        case spaceAvailable = "space_available"
        case isListed = "is_listed"
    }
}

package struct FileReport: Codable, Sendable, Equatable {
    package var name: String
    /// GRAPHIC_PNG, …; like the following ones, left out for files that existed before.
    package var type: String?
    package var bytes: Int?
    /// Announced by the first chunk; more than `bytes` while chunks are missing.
    package var totalBytes: Int?
    package var isPersistent: Bool?
    package var at: Timestamp?

    package init(name: String) { self.name = name }

    enum CodingKeys: String, CodingKey {
        case name, type, bytes
        case totalBytes = "total_bytes"
        case isPersistent = "is_persistent"
        case at
    }
}

/// What the app has subscribed to.
package struct SubscriptionsReport: Codable, Sendable, Equatable {
    package var buttons: [String] = []
    /// Subscribed items, and those it only read, by name.
    package var vehicleData: [VehicleDatumReport] = []
    package var wayPoints = false

    package init() {}

    enum CodingKeys: String, CodingKey {
        case buttons
        case vehicleData = "vehicle_data"
        case wayPoints = "way_points"
    }
}

package struct VehicleDatumReport: Codable, Sendable, Equatable {
    package var name: String
    package var isSubscribed: Bool
    /// The latest value as text; objects as JSON.
    package var value: String?
    package var at: Timestamp?

    package init(name: String, isSubscribed: Bool, value: String? = nil, at: Timestamp? = nil) {
        self.name = name
        self.isSubscribed = isSubscribed
        self.value = value
        self.at = at
    }

    enum CodingKeys: String, CodingKey {
        case name
        case isSubscribed = "is_subscribed"
        case value, at
    }
}

/// The choices offered to the user.
package struct MenuReport: Codable, Sendable, Equatable {
    package var commands: [CommandReport] = []
    package var subMenus: [SubMenuReport] = []
    package var choiceSets: [ChoiceSetReport] = []

    package init() {}

    enum CodingKeys: String, CodingKey {
        case commands
        case subMenus = "sub_menus"
        case choiceSets = "choice_sets"
    }
}

package struct CommandReport: Codable, Sendable, Equatable {
    package var id: Int
    /// Left out when the command can only be spoken.
    package var name: String?
    /// The sub menu that contains it; left out at the top level.
    package var parent: Int?
    /// The first few phrases to say.
    package var spoken: [String]

    package init(id: Int, name: String? = nil, parent: Int? = nil, spoken: [String] = []) {
        self.id = id
        self.name = name
        self.parent = parent
        self.spoken = spoken
    }
}

package struct SubMenuReport: Codable, Sendable, Equatable {
    package var id: Int
    package var name: String

    package init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}

package struct ChoiceSetReport: Codable, Sendable, Equatable {
    package var id: Int
    /// Number of choices.
    package var choices: Int

    package init(id: Int, choices: Int) {
        self.id = id
        self.choices = choices
    }
}

/// A running service.
package struct ServiceReport: Codable, Sendable, Equatable {
    /// "rpc", "audio", "video".
    package var service: String
    package var session: Int
    package var since: Timestamp
    package var isProtected = false
    /// In bytes; head units differ in what they count.
    package var mtu: Int?
    /// For video: "800×480 H264 RAW".
    package var format: String?
    /// For audio and video, in the last second with data; left out while there is none.
    package var bitsPerSecond: Int?
    /// For video: messages per second, which are pictures with the usual libraries.
    package var picturesPerSecond: Double?
    package var frames: Int?
    package var bytes: Int?

    package init(service: String, session: Int, since: Timestamp) {
        self.service = service
        self.session = session
        self.since = since
    }

    enum CodingKeys: String, CodingKey {
        case service, session, since
        case isProtected = "is_protected"
        case mtu, format
        case bitsPerSecond = "bits_per_second"
        case picturesPerSecond = "pictures_per_second"
        case frames, bytes
    }
}

/// A request that has no answer yet.
package struct PendingReport: Codable, Sendable, Equatable {
    package var rpc: String
    package var correlationID: Int?
    /// "app" or "accessory".
    package var from: String
    package var at: Timestamp
    /// Number of its entry in the traffic log.
    package var entry: Int

    package init(rpc: String, correlationID: Int?, from: String, at: Timestamp, entry: Int) {
        self.rpc = rpc
        self.correlationID = correlationID
        self.from = from
        self.at = at
        self.entry = entry
    }

    enum CodingKeys: String, CodingKey {
        case rpc
        case correlationID = "correlation_id"
        case from, at, entry
    }
}
