/// What the head unit allows for one RPC.
package struct PermissionReport: Codable, Sendable, Equatable {
    /// Name as in the RPC specification.
    package var rpc: String
    /// Whether the app may use it now, by the same rules as `PermissionAnswer`.
    package var answer: MayIt = .unknown
    /// HMI levels in which it is allowed, and those in which the user has disallowed it.
    package var allowed: [String] = []
    package var userDisallowed: [String] = []
    /// Parameters that may be used; empty means no restriction.
    package var allowedParameters: [String] = []
    package var userDisallowedParameters: [String] = []
    package var requiresEncryption = false
    /// When the head unit reported this.
    package var at: Timestamp?

    package init(rpc: String) { self.rpc = rpc }

    enum CodingKeys: String, CodingKey {
        case rpc, answer, allowed
        case userDisallowed = "user_disallowed"
        case allowedParameters = "allowed_parameters"
        case userDisallowedParameters = "user_disallowed_parameters"
        case requiresEncryption = "requires_encryption"
        case at
    }
}

/// Whether an app may use an RPC now, and why: the answer to
/// `GET /v1/apps/ID-OR-NAME/permissions/RPC`.
package struct PermissionAnswer: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Number of the app's connection.
    package var app: Int
    package var appName: String?
    package var rpc: String
    package var answer: MayIt
    /// The deciding cause, as a word for programs: "allowed", "not_registered", "wrong_level", …
    package var cause: String
    /// The same for people, in one sentence.
    package var reason: String
    /// What to do about it; left out when there is nothing to do.
    package var remedy: String?
    /// The app's current level; left out before the first OnHMIStatus.
    package var hmiLevel: String?
    /// What the head unit reported; left out when it has reported nothing.
    package var permission: PermissionReport?

    package init(
        app: Int, appName: String?, rpc: String, answer: MayIt, cause: String, reason: String,
        remedy: String? = nil, hmiLevel: String? = nil, permission: PermissionReport? = nil
    ) {
        self.app = app
        self.appName = appName
        self.rpc = rpc
        self.answer = answer
        self.cause = cause
        self.reason = reason
        self.remedy = remedy
        self.hmiLevel = hmiLevel
        self.permission = permission
    }

    enum CodingKeys: String, CodingKey {
        case schema, app
        case appName = "app_name"
        case rpc, answer, cause, reason, remedy
        case hmiLevel = "hmi_level"
        case permission
    }
}

/// The answer to "may I send this now?".
package struct MayIt: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let yes = MayIt(rawValue: "yes")
    package static let no = MayIt(rawValue: "no")
    /// The head unit has not said yet.
    package static let unknown = MayIt(rawValue: "unknown")
}
