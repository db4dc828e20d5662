/// A command from a client to the vehicle interface.
package enum Command: Hashable, Sendable {
    case version
    case deviceID
    case platform
    case vin
    case sdMountStatus
    /// Whether to pass on all frames of a bus.
    case passthrough(bus: Int32, enabled: Bool)
    /// Whether a bus is to listen to all identifiers.
    case acceptanceFilterBypass(bus: Int32, bypass: Bool)
    case payloadFormat(PayloadFormat)
    /// Whether the vehicle interface is to ask for the usual OBD-II values by itself.
    case predefinedOBD2(enabled: Bool)
    case diagnosticRequest(DiagnosticAction, DiagnosticRequest)
    case modemConfiguration(ModemConfiguration)
    /// Seconds since 1970.
    case rtcConfiguration(unixTime: UInt32)
    /// A command that is not in the list; protobuf cannot express it.
    ///
    /// - Parameter object: The whole object, with all its members.
    case other(name: String, object: JSONFragment)

    package enum DiagnosticAction: String, Hashable, Sendable, CaseIterable {
        case add
        case cancel
    }

    package var name: CommandName {
        switch self {
        case .version: .version
        case .deviceID: .deviceID
        case .platform: .platform
        case .vin: .vin
        case .sdMountStatus: .sdMountStatus
        case .passthrough: .passthrough
        case .acceptanceFilterBypass: .acceptanceFilterBypass
        case .payloadFormat: .payloadFormat
        case .predefinedOBD2: .predefinedOBD2
        case .diagnosticRequest: .diagnosticRequest
        case .modemConfiguration: .modemConfiguration
        case .rtcConfiguration: .rtcConfiguration
        case .other(let name, _): .other(name)
        }
    }
}

/// The name of a command and its response.
package enum CommandName: Hashable, Sendable {
    case version
    case deviceID
    case platform
    case vin
    case sdMountStatus
    case passthrough
    case acceptanceFilterBypass
    case payloadFormat
    case predefinedOBD2
    case diagnosticRequest
    case modemConfiguration
    case rtcConfiguration
    /// Cannot be expressed in protobuf.
    case other(String)

    package static let known: [CommandName] = [
        .version, .deviceID, .platform, .vin, .sdMountStatus, .passthrough,
        .acceptanceFilterBypass, .payloadFormat, .predefinedOBD2, .diagnosticRequest,
        .modemConfiguration, .rtcConfiguration,
    ]

    /// The name in JSON.
    package var word: String {
        switch self {
        case .version: "version"
        case .deviceID: "device_id"
        case .platform: "platform"
        case .vin: "get_vin"
        case .sdMountStatus: "sd_mount_status"
        case .passthrough: "passthrough"
        case .acceptanceFilterBypass: "af_bypass"
        case .payloadFormat: "payload_format"
        case .predefinedOBD2: "predefined_obd2"
        case .diagnosticRequest: "diagnostic_request"
        case .modemConfiguration: "modem_configuration"
        case .rtcConfiguration: "rtc_configuration"
        case .other(let word): word
        }
    }

    private static let byWord = Dictionary(uniqueKeysWithValues: known.map { ($0.word, $0) })

    package init(word: String) {
        self = Self.byWord[word] ?? .other(word)
    }
}

/// How a vehicle interface with a modem reaches its server. JSON can express the server only.
package struct ModemConfiguration: Hashable, Sendable {
    package var host: String?
    package var port: UInt32?
    package var apn: String?
    package var networkOperator: NetworkOperator?

    /// The numbers are those of the protobuf definition.
    package struct NetworkOperator: Hashable, Sendable {
        package var allowsDataRoaming: Bool
        package var selectMode: Int
        package var plmn: UInt32?
        package var networkType: Int?

        package init(
            allowsDataRoaming: Bool, selectMode: Int, plmn: UInt32?, networkType: Int?
        ) {
            self.allowsDataRoaming = allowsDataRoaming
            self.selectMode = selectMode
            self.plmn = plmn
            self.networkType = networkType
        }
    }

    package init(
        host: String? = nil, port: UInt32? = nil, apn: String? = nil,
        networkOperator: NetworkOperator? = nil
    ) {
        self.host = host
        self.port = port
        self.apn = apn
        self.networkOperator = networkOperator
    }
}

/// Says whether the vehicle interface has accepted a command. It does not say whether the vehicle has
/// answered.
package struct CommandResponse: Hashable, Sendable {
    package var command: CommandName
    /// Empty when there is no message.
    package var message: String
    package var status: Bool

    package init(_ command: CommandName, message: String = "", status: Bool) {
        self.command = command
        self.message = message
        self.status = status
    }
}
