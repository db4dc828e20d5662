// An OpenXC vehicle interface and its clients, as `Routes.vehicle` shows them.

/// The answer to `GET /v1/vehicle`.
package struct VehicleReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    package var interface: VehicleInterface
    /// The latest value of each signal since the link was opened, by name.
    package var measurements: [VehicleMeasurement]
    /// The latest frame of each identifier, by bus and identifier.
    package var can: [VehicleCANMessage]
    /// The latest answer to each diagnostic request.
    package var diagnostics: [VehicleDiagnostic]
    /// Diagnostic requests that the vehicle interface repeats.
    package var requests: [VehicleRequest]
    /// Buses in passthrough mode or without acceptance filter.
    package var switches: [VehicleSwitch]
    package var clients: [VehicleClient]
    /// Limits of this report, and how much they left out.
    package var limits: [VehicleLimit]

    package init(
        interface: VehicleInterface, measurements: [VehicleMeasurement] = [],
        can: [VehicleCANMessage] = [], diagnostics: [VehicleDiagnostic] = [],
        requests: [VehicleRequest] = [], switches: [VehicleSwitch] = [],
        clients: [VehicleClient] = [], limits: [VehicleLimit] = []
    ) {
        self.interface = interface
        self.measurements = measurements
        self.can = can
        self.diagnostics = diagnostics
        self.requests = requests
        self.switches = switches
        self.clients = clients
        self.limits = limits
    }
}

/// Description of the vehicle interface.
package struct VehicleInterface: Codable, Sendable, Equatable {
    /// Whether it is connected.
    package var connected: Bool
    /// As configured.
    package var address: String
    /// Firmware as reported: "8.2.1 (default)". The following fields are left out until reported.
    package var version: String?
    package var platform: String?
    /// Known once somebody has asked.
    package var deviceID: String?
    package var vin: String?
    /// "json" or "protobuf".
    package var format: String?
    /// Since the link was opened.
    package var messages: Int
    package var messagesPerSecond: Double
    package var lastMessageAt: Timestamp?
    /// Bytes that belonged to no message.
    package var garbageBytes: Int
    /// Messages that could not be read, by problem.
    package var unreadable: [String: Int]

    package init(
        connected: Bool, address: String, version: String? = nil, platform: String? = nil,
        deviceID: String? = nil, vin: String? = nil, format: String? = nil, messages: Int = 0,
        messagesPerSecond: Double = 0, lastMessageAt: Timestamp? = nil, garbageBytes: Int = 0,
        unreadable: [String: Int] = [:]
    ) {
        self.connected = connected
        self.address = address
        self.version = version
        self.platform = platform
        self.deviceID = deviceID
        self.vin = vin
        self.format = format
        self.messages = messages
        self.messagesPerSecond = messagesPerSecond
        self.lastMessageAt = lastMessageAt
        self.garbageBytes = garbageBytes
        self.unreadable = unreadable
    }

    enum CodingKeys: String, CodingKey {
        case connected, address, version, platform
        case deviceID = "device_id"
        case vin, format, messages
        case messagesPerSecond = "messages_per_second"
        case lastMessageAt = "last_message_at"
        case garbageBytes = "garbage_bytes"
        case unreadable
    }
}

/// A value of a signal, in JSON.
package enum VehicleScalar: Codable, Sendable, Hashable {
    case flag(Bool)
    case number(Double)
    case text(String)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A number is not a boolean and a boolean is not a number, so the order does not matter.
        if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
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
        }
    }
}

/// The latest value of a signal. An event has an entry for each of its states: `door_status` has one for
/// each door.
package struct VehicleMeasurement: Codable, Sendable, Equatable {
    package var name: String
    package var value: VehicleScalar
    /// The event for the state that `value` names.
    package var event: VehicleScalar?
    /// For the official signals.
    package var unit: String?
    /// When relayd received it.
    package var at: Timestamp
    /// The vehicle interface's own clock: milliseconds.
    package var vehicleTime: Double?
    package var count: Int
    package var perSecond: Double
    /// The latest value in each of the last seconds, oldest first; booleans are 1 and 0. For an event,
    /// the values of `event`. Empty for texts.
    package var history: [Double]

    package init(
        name: String, value: VehicleScalar, event: VehicleScalar? = nil, unit: String? = nil,
        at: Timestamp, vehicleTime: Double? = nil, count: Int, perSecond: Double,
        history: [Double] = []
    ) {
        self.name = name
        self.value = value
        self.event = event
        self.unit = unit
        self.at = at
        self.vehicleTime = vehicleTime
        self.count = count
        self.perSecond = perSecond
        self.history = history
    }

    enum CodingKeys: String, CodingKey {
        case name, value, event, unit, at
        case vehicleTime = "vehicle_time"
        case count
        case perSecond = "per_second"
        case history
    }
}

/// The latest frame with a given identifier.
package struct VehicleCANMessage: Codable, Sendable, Equatable {
    /// Left out when the vehicle interface does not report it.
    package var bus: Int?
    package var id: Int
    /// "0x" and pairs of hexadecimal digits.
    package var data: String
    /// "standard" or "extended", if reported.
    package var frameFormat: String?
    package var at: Timestamp
    package var vehicleTime: Double?
    package var count: Int
    package var perSecond: Double

    package init(
        bus: Int?, id: Int, data: String, frameFormat: String? = nil, at: Timestamp,
        vehicleTime: Double? = nil, count: Int, perSecond: Double
    ) {
        self.bus = bus
        self.id = id
        self.data = data
        self.frameFormat = frameFormat
        self.at = at
        self.vehicleTime = vehicleTime
        self.count = count
        self.perSecond = perSecond
    }

    enum CodingKeys: String, CodingKey {
        case bus, id, data
        case frameFormat = "frame_format"
        case at
        case vehicleTime = "vehicle_time"
        case count
        case perSecond = "per_second"
    }
}

/// The latest answer to a diagnostic request, complete even if it arrived in pieces.
package struct VehicleDiagnostic: Codable, Sendable, Equatable {
    package var bus: Int?
    /// Identifier of the request; for a request to all modules (0x7df), that of the answering module.
    package var id: Int
    package var mode: Int
    /// 0 where the request had none.
    package var pid: Int
    package var success: Bool
    package var negativeResponseCode: Int?
    /// The code in words.
    package var reason: String?
    /// As the vehicle interface reported it.
    package var value: VehicleScalar?
    package var payload: String?
    /// Name of the parameter, for PIDs of OBD-II mode 1.
    package var parameter: String?
    /// The number that value or payload represent, in `unit`.
    package var decoded: Double?
    package var unit: String?
    package var at: Timestamp
    package var vehicleTime: Double?
    package var count: Int
    package var perSecond: Double

    package init(
        bus: Int?, id: Int, mode: Int, pid: Int, success: Bool, negativeResponseCode: Int? = nil,
        reason: String? = nil, value: VehicleScalar? = nil, payload: String? = nil,
        parameter: String? = nil, decoded: Double? = nil, unit: String? = nil, at: Timestamp,
        vehicleTime: Double? = nil, count: Int = 1, perSecond: Double = 0
    ) {
        self.bus = bus
        self.id = id
        self.mode = mode
        self.pid = pid
        self.success = success
        self.negativeResponseCode = negativeResponseCode
        self.reason = reason
        self.value = value
        self.payload = payload
        self.parameter = parameter
        self.decoded = decoded
        self.unit = unit
        self.at = at
        self.vehicleTime = vehicleTime
        self.count = count
        self.perSecond = perSecond
    }

    enum CodingKeys: String, CodingKey {
        case bus, id, mode, pid, success
        case negativeResponseCode = "negative_response_code"
        case reason, value, payload, parameter, decoded, unit, at
        case vehicleTime = "vehicle_time"
        case count
        case perSecond = "per_second"
    }
}

/// A repeated diagnostic request, and its users.
package struct VehicleRequest: Codable, Sendable, Equatable {
    package var bus: Int?
    package var id: Int
    package var mode: Int
    package var pid: Int
    /// Times per second.
    package var frequency: Double
    package var parameter: String?
    /// Numbers of the clients that want it.
    package var clients: [Int]
    /// Number of requests of the control API that want it.
    package var api: Int

    package init(
        bus: Int?, id: Int, mode: Int, pid: Int, frequency: Double, parameter: String? = nil,
        clients: [Int], api: Int = 0
    ) {
        self.bus = bus
        self.id = id
        self.mode = mode
        self.pid = pid
        self.frequency = frequency
        self.parameter = parameter
        self.clients = clients
        self.api = api
    }
}

/// A setting of a bus that is on as long as somebody wants it.
package struct VehicleSwitch: Codable, Sendable, Equatable {
    /// "passthrough" or "af_bypass".
    package var name: String
    package var bus: Int?
    package var clients: [Int]
    package var api: Int

    package init(name: String, bus: Int?, clients: [Int], api: Int = 0) {
        self.name = name
        self.bus = bus
        self.clients = clients
        self.api = api
    }
}

/// A client of the vehicle interface.
package struct VehicleClient: Codable, Sendable, Equatable {
    /// The client's number, as in the status.
    package var id: Int
    package var peer: String
    package var connectedAt: Timestamp
    /// "json", "lines" or "protobuf".
    package var format: String
    package var subscription: VehicleSubscription
    /// What it may write, as in `openxc.writes`; empty for nothing.
    package var writes: [String]
    /// Received from the client.
    package var messagesIn: Int
    package var bytesIn: Int
    /// Sent to the client.
    package var messagesOut: Int
    package var bytesOut: Int
    package var queueBytes: Int
    /// Queue size above which the client misses messages.
    package var queueLimit: Int
    /// Messages the client missed because it did not read.
    package var lost: Int
    /// Messages from the client that were not carried out.
    package var refused: Int
    /// Messages from the client that could not be read, by problem.
    package var unreadable: [String: Int]
    /// The last thing that went wrong.
    package var problem: String?

    package init(
        id: Int, peer: String, connectedAt: Timestamp, format: String,
        subscription: VehicleSubscription = VehicleSubscription(), writes: [String] = [],
        messagesIn: Int = 0, bytesIn: Int = 0, messagesOut: Int = 0, bytesOut: Int = 0,
        queueBytes: Int = 0, queueLimit: Int = 0, lost: Int = 0, refused: Int = 0,
        unreadable: [String: Int] = [:], problem: String? = nil
    ) {
        self.id = id
        self.peer = peer
        self.connectedAt = connectedAt
        self.format = format
        self.subscription = subscription
        self.writes = writes
        self.messagesIn = messagesIn
        self.bytesIn = bytesIn
        self.messagesOut = messagesOut
        self.bytesOut = bytesOut
        self.queueBytes = queueBytes
        self.queueLimit = queueLimit
        self.lost = lost
        self.refused = refused
        self.unreadable = unreadable
        self.problem = problem
    }

    enum CodingKeys: String, CodingKey {
        case id, peer
        case connectedAt = "connected_at"
        case format, subscription, writes
        case messagesIn = "messages_in"
        case bytesIn = "bytes_in"
        case messagesOut = "messages_out"
        case bytesOut = "bytes_out"
        case queueBytes = "queue_bytes"
        case queueLimit = "queue_limit"
        case lost, refused, unreadable, problem
    }
}

/// The messages a client gets. Empty lists and zero mean all.
package struct VehicleSubscription: Codable, Sendable, Equatable {
    package var names: [String]
    package var buses: [Int]
    /// Identifiers and ranges of them, as configured.
    package var ids: [String]
    package var onChange: Bool
    /// Maximum number of messages per second for a signal.
    package var rate: Int

    package init(
        names: [String] = [], buses: [Int] = [], ids: [String] = [], onChange: Bool = false,
        rate: Int = 0
    ) {
        self.names = names
        self.buses = buses
        self.ids = ids
        self.onChange = onChange
        self.rate = rate
    }

    enum CodingKeys: String, CodingKey {
        case names, buses, ids
        case onChange = "on_change"
        case rate
    }
}

/// A limit on what is kept about a vehicle.
package struct VehicleLimit: Codable, Sendable, Equatable {
    package var name: VehicleLimitName
    package var limit: Int
    /// Messages that were left out because of the limit.
    package var leftOut: Int

    package init(name: VehicleLimitName, limit: Int, leftOut: Int) {
        self.name = name
        self.limit = limit
        self.leftOut = leftOut
    }

    enum CodingKeys: String, CodingKey {
        case name, limit
        case leftOut = "left_out"
    }
}

package struct VehicleLimitName: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Signals whose latest value is kept; further ones are passed on, but not shown.
    package static let signals = VehicleLimitName(rawValue: "signals")
    /// The same for identifiers on the buses.
    package static let can = VehicleLimitName(rawValue: "can")
    /// The same for diagnostic answers.
    package static let diagnostics = VehicleLimitName(rawValue: "diagnostics")
    /// Bytes of a diagnostic answer that arrived in pieces; pieces that did not fit together count here.
    package static let answer = VehicleLimitName(rawValue: "answer")
    /// Bytes between the hub and those who watch the messages.
    package static let tapQueue = VehicleLimitName(rawValue: "limits.tap_queue")

    package static let all: [VehicleLimitName] = [signals, can, diagnostics, answer, tapQueue]
}
