/// The configuration in force, and where each value comes from: the answer to `GET /v1/config`.
package struct ConfigReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// The file that was read, as a full path; left out when relayd runs without one.
    package var file: String?
    /// The specification that RPCs are compared with; left out when they are not compared.
    package var specification: SpecificationReport?
    /// All options, in the order of the file that is shipped.
    package var options: [ConfigOptionReport]

    package init(
        options: [ConfigOptionReport], file: String? = nil,
        specification: SpecificationReport? = nil
    ) {
        self.options = options
        self.file = file
        self.specification = specification
    }
}

/// The RPC specification in force.
package struct SpecificationReport: Codable, Sendable, Equatable {
    /// Its version, e.g. "8.0.0".
    package var version: String
    /// The file it comes from; left out for the built-in one.
    package var file: String?
    /// Why the file that `rpc_spec` names is not used; left out when it is used, or none is named.
    package var problem: String?

    package init(version: String, file: String? = nil, problem: String? = nil) {
        self.version = version
        self.file = file
        self.problem = problem
    }
}

/// One option.
package struct ConfigOptionReport: Codable, Sendable, Equatable {
    /// Section and key, such as "apps.hold_timeout".
    package var path: String
    /// The current value.
    package var value: ConfigOptionValue
    /// The default value.
    package var builtIn: ConfigOptionValue
    /// The unit of a number; left out where it counts things.
    package var unit: ConfigUnit?
    /// `value` as it is written in the file; for a list, its elements separated by commas.
    package var text: String
    /// The same of `builtIn`.
    package var builtInText: String
    /// What set it: "default", "file", "environment" or "flag".
    package var origin: ConfigOriginKind
    /// The exact place: "/etc/relayd/relayd.yaml:12:3", "RELAYD_LISTEN", "--listen".
    package var place: String?

    package init(
        path: String, value: ConfigOptionValue, builtIn: ConfigOptionValue,
        unit: ConfigUnit? = nil, text: String, builtInText: String, origin: ConfigOriginKind,
        place: String? = nil
    ) {
        self.path = path
        self.value = value
        self.builtIn = builtIn
        self.unit = unit
        self.text = text
        self.builtInText = builtInText
        self.origin = origin
        self.place = place
    }

    enum CodingKeys: String, CodingKey {
        case path, value
        case builtIn = "default"
        case unit, text
        case builtInText = "default_text"
        case origin, place
    }
}

/// A value of an option, as JSON has it.
package enum ConfigOptionValue: Codable, Sendable, Equatable {
    case flag(Bool)
    case number(Int)
    case text(String)
    case list([String])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A number is not a boolean and a boolean is not a number, so the order does not matter.
        if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else if let list = try? container.decode([String].self) {
            self = .list(list)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .flag(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        }
    }
}

/// The unit of a numeric option.
package struct ConfigUnit: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let milliseconds = ConfigUnit(rawValue: "ms")
    package static let bytes = ConfigUnit(rawValue: "bytes")
}

/// What set an option.
package struct ConfigOriginKind: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let builtIn = ConfigOriginKind(rawValue: "default")
    package static let file = ConfigOriginKind(rawValue: "file")
    package static let environment = ConfigOriginKind(rawValue: "environment")
    package static let flag = ConfigOriginKind(rawValue: "flag")
}
