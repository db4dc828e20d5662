// The configuration that is in force, and where each value is from.

/// The answer to `GET /v1/config`.
package struct ConfigReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Every option there is, in the order of the file that is shipped.
    package var options: [ConfigOptionReport]

    package init(options: [ConfigOptionReport]) { self.options = options }
}

/// One option.
package struct ConfigOptionReport: Codable, Sendable, Equatable {
    /// Section and key, such as "apps.hold_timeout".
    package var path: String
    /// What it is set to, as it would be written in the file; of a list, its elements with commas.
    package var value: String
    /// What it is without anybody setting it.
    package var builtIn: String
    /// Who set it: "default", "file", "environment" or "flag".
    package var origin: ConfigOriginKind
    /// Where exactly: "/etc/relayd/relayd.yaml:12:3", "RELAYD_LISTEN", "--listen".
    package var place: String?

    package init(
        path: String, value: String, builtIn: String, origin: ConfigOriginKind,
        place: String? = nil
    ) {
        self.path = path
        self.value = value
        self.builtIn = builtIn
        self.origin = origin
        self.place = place
    }

    enum CodingKeys: String, CodingKey {
        case path, value
        case builtIn = "default"
        case origin, place
    }
}

/// Who set an option.
package struct ConfigOriginKind: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let builtIn = ConfigOriginKind(rawValue: "default")
    package static let file = ConfigOriginKind(rawValue: "file")
    package static let environment = ConfigOriginKind(rawValue: "environment")
    package static let flag = ConfigOriginKind(rawValue: "flag")
}
