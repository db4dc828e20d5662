// Requests of a client to a vehicle interface, and their results.

/// The body of `POST /v1/vehicle/command`.
package struct VehicleCommandRequest: ControlBody, Equatable {
    /// The command's name on the wire, such as "version" or "get_vin".
    package var command: String
    /// For "predefined_obd2".
    package var enabled: Bool?
    /// For "rtc_configuration": seconds since 1970.
    package var unixTime: Int?
    /// For "modem_configuration".
    package var host: String?
    package var port: Int?

    package static let members = ["command", "enabled", "unix_time", "host", "port"]

    package init(command: String, enabled: Bool? = nil, unixTime: Int? = nil) {
        self.command = command
        self.enabled = enabled
        self.unixTime = unixTime
    }

    enum CodingKeys: String, CodingKey {
        case command, enabled
        case unixTime = "unix_time"
        case host, port
    }
}

/// The answer of the vehicle interface to a command.
package struct VehicleCommandReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    package var command: String
    /// Whether it accepted the command.
    package var status: Bool
    /// Empty when it has nothing to say.
    package var message: String
    /// From the command to its answer.
    package var milliseconds: Double

    package init(command: String, status: Bool, message: String, milliseconds: Double) {
        self.command = command
        self.status = status
        self.message = message
        self.milliseconds = milliseconds
    }
}

/// The body of `POST /v1/vehicle/diagnostic`: a single request, asked once.
package struct VehicleDiagnosticRequest: ControlBody, Equatable {
    /// Left out for the vehicle interface's first bus.
    package var bus: Int?
    /// 0x7df asks all modules.
    package var id: Int
    package var mode: Int
    package var pid: Int?
    /// Pairs of hexadecimal digits, with or without a leading "0x".
    package var payload: String?
    /// Whether several modules may answer; when left out, true if all are asked.
    package var multipleResponses: Bool?
    /// How long to wait for the vehicle: milliseconds.
    package var waitMilliseconds: Int?

    package static let members = [
        "bus", "id", "mode", "pid", "payload", "multiple_responses", "wait_milliseconds",
    ]
    /// A vehicle interface gives a module 100 ms, and may have up to 19 requests before this one.
    package static let usualWait = 1000
    package static let waits = 10...10_000

    package init(
        bus: Int? = nil, id: Int, mode: Int, pid: Int? = nil, payload: String? = nil,
        multipleResponses: Bool? = nil, waitMilliseconds: Int? = nil
    ) {
        self.bus = bus
        self.id = id
        self.mode = mode
        self.pid = pid
        self.payload = payload
        self.multipleResponses = multipleResponses
        self.waitMilliseconds = waitMilliseconds
    }

    enum CodingKeys: String, CodingKey {
        case bus, id, mode, pid, payload
        case multipleResponses = "multiple_responses"
        case waitMilliseconds = "wait_milliseconds"
    }
}

/// The answers of vehicle interface and vehicle to a diagnostic request.
package struct VehicleDiagnosticReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Whether the vehicle interface accepted the request; left out when only the vehicle has answered.
    package var status: Bool?
    /// The vehicle interface's message about it.
    package var message: String?
    /// In order of arrival; empty when no module has answered in time.
    package var answers: [VehicleDiagnostic]
    /// From the request to the last answer, or to the end of the wait.
    package var milliseconds: Double

    package init(
        status: Bool?, message: String?, answers: [VehicleDiagnostic], milliseconds: Double
    ) {
        self.status = status
        self.message = message
        self.answers = answers
        self.milliseconds = milliseconds
    }
}

/// The body of `POST /v1/vehicle/write`: a measurement (`name`, `value`) or a CAN frame (`id`, `data`).
package struct VehicleWriteRequest: ControlBody, Equatable {
    package var name: String?
    package var value: VehicleScalar?
    package var event: VehicleScalar?
    /// Left out for the vehicle interface's first bus.
    package var bus: Int?
    package var id: Int?
    /// Pairs of hexadecimal digits, with or without a leading "0x".
    package var data: String?
    /// "standard" or "extended".
    package var frameFormat: String?

    package static let members = ["name", "value", "event", "bus", "id", "data", "frame_format"]

    package init(name: String, value: VehicleScalar, event: VehicleScalar? = nil) {
        self.name = name
        self.value = value
        self.event = event
    }

    package init(bus: Int?, id: Int, data: String, frameFormat: String? = nil) {
        self.bus = bus
        self.id = id
        self.data = data
        self.frameFormat = frameFormat
    }

    enum CodingKeys: String, CodingKey {
        case name, value, event, bus, id, data
        case frameFormat = "frame_format"
    }
}

/// The body of `POST /v1/vehicle/stream`: settings that are on as long as the stream is open.
package struct VehicleStreamBody: ControlBody, Equatable {
    /// Buses whose frames are all passed on.
    package var passthrough: [Int]?
    /// Buses that accept all identifiers.
    package var acceptanceFilterBypass: [Int]?
    /// Requests that the vehicle interface repeats.
    package var diagnostics: [VehicleRepeatedRequest]?

    package static let members = ["passthrough", "af_bypass", "diagnostics"]
    /// Maximum number that firmware repeats at once, which is more than there are buses.
    package static let maximumWishes = 20

    package init(
        passthrough: [Int]? = nil, acceptanceFilterBypass: [Int]? = nil,
        diagnostics: [VehicleRepeatedRequest]? = nil
    ) {
        self.passthrough = passthrough
        self.acceptanceFilterBypass = acceptanceFilterBypass
        self.diagnostics = diagnostics
    }

    enum CodingKeys: String, CodingKey {
        case passthrough
        case acceptanceFilterBypass = "af_bypass"
        case diagnostics
    }
}

/// Ranges of numbers and bytes, for relayd and its clients.
package enum VehicleLimits {
    package static let buses = 1...Int(Int32.max)
    /// 29 bits.
    package static let identifiers = 1...0x1FFF_FFFF
    package static let modes = 1...255
    package static let pids = 0...0xFFFF
    /// Bytes after the PID of a request, and of a CAN frame.
    package static let payloadBytes = 8
    /// Past messages that relayd keeps for the stream.
    package static let pastMessages = 4096
}

/// A diagnostic request that is repeated.
package struct VehicleRepeatedRequest: Codable, Sendable, Equatable {
    package var bus: Int?
    package var id: Int
    package var mode: Int
    package var pid: Int?
    package var payload: String?
    package var multipleResponses: Bool?
    /// Times per second: more than 0, up to 10.
    package var frequency: Double

    package static let maximumFrequency = 10.0

    package init(
        bus: Int? = nil, id: Int, mode: Int, pid: Int? = nil, payload: String? = nil,
        multipleResponses: Bool? = nil, frequency: Double
    ) {
        self.bus = bus
        self.id = id
        self.mode = mode
        self.pid = pid
        self.payload = payload
        self.multipleResponses = multipleResponses
        self.frequency = frequency
    }

    enum CodingKeys: String, CodingKey {
        case bus, id, mode, pid, payload
        case multipleResponses = "multiple_responses"
        case frequency
    }
}
