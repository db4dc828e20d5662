// Messages between a vehicle interface, relayd and clients, as `Routes.vehicleStream` shows them.

/// Keys of the query of `Routes.vehicleStream`. Several values of a repeatable key are alternatives;
/// different keys must all match.
package enum VehicleQueryKey: String, CaseIterable, Sendable {
    /// Only messages with a greater number.
    case after
    /// With `after`: the run of relayd that the number comes from.
    case instance
    /// Begin with this many past messages.
    case last
    /// 0 to end with the newest.
    case follow
    /// Only measurements of this name; repeatable.
    case name
    /// Only messages that concern this bus; repeatable.
    case bus
    /// Only messages that concern this identifier, such as 0x7e8, or a range of them; repeatable.
    case id
    /// Only diagnostics of this mode; repeatable.
    case mode
    /// Only diagnostics of this PID; repeatable.
    case pid
    /// Repeatable.
    case kind
    /// 1 to include the vehicle interface's messages as they arrived.
    case raw

    package var isRepeatable: Bool {
        switch self {
        case .name, .bus, .id, .mode, .pid, .kind: true
        default: false
        }
    }
}

/// Kind of an entry of the stream.
package struct VehicleMessageKind: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let measurement = VehicleMessageKind(rawValue: "measurement")
    package static let can = VehicleMessageKind(rawValue: "can")
    package static let diagnostic = VehicleMessageKind(rawValue: "diagnostic")
    /// A client, or relayd, sends a command.
    package static let command = VehicleMessageKind(rawValue: "command")
    /// The answer to a command.
    package static let response = VehicleMessageKind(rawValue: "response")
    /// A measurement or a frame for the vehicle.
    package static let write = VehicleMessageKind(rawValue: "write")
    /// A message from a client that was not carried out or not answered.
    package static let refused = VehicleMessageKind(rawValue: "refused")
    /// The link was opened or closed.
    package static let link = VehicleMessageKind(rawValue: "link")
    /// Messages passed without being seen.
    package static let missed = VehicleMessageKind(rawValue: "missed")
    /// Well-formed, but of none of the kinds above.
    package static let other = VehicleMessageKind(rawValue: "other")

    package static let all: [VehicleMessageKind] = [
        measurement, can, diagnostic, command, response, write, refused, link, missed, other,
    ]
}

/// The sender or receiver of a message.
package struct VehicleParty: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let vehicle = VehicleParty(rawValue: "vehicle")
    /// The client given by `client`.
    package static let client = VehicleParty(rawValue: "client")
    /// Every client whose subscription matches.
    package static let all = VehicleParty(rawValue: "all")
    package static let relayd = VehicleParty(rawValue: "relayd")
    /// A request of the control API.
    package static let api = VehicleParty(rawValue: "api")
    package static let nobody = VehicleParty(rawValue: "nobody")

    package static let every: [VehicleParty] = [vehicle, client, all, relayd, api, nobody]
}

/// One message, decoded. Fields that do not apply are left out.
package struct VehicleMessageReport: Codable, Sendable, Equatable {
    /// Its number, from 1 in the order in which relayd saw them.
    package var n: Int
    package var at: Timestamp
    package var kind: VehicleMessageKind
    package var from: VehicleParty
    package var to: VehicleParty
    /// The client that sends or receives it.
    package var client: Int?
    /// A description in words.
    package var text: String
    /// For a measurement.
    package var name: String?
    package var value: VehicleScalar?
    package var event: VehicleScalar?
    package var unit: String?
    package var bus: Int?
    package var id: Int?
    package var data: String?
    package var frameFormat: String?
    package var mode: Int?
    package var pid: Int?
    package var success: Bool?
    package var negativeResponseCode: Int?
    package var reason: String?
    package var payload: String?
    package var parameter: String?
    package var decoded: Double?
    /// For a piece of a long answer: its number, from 0; -1 is the last.
    package var frame: Int?
    package var totalSize: Int?
    /// For a command and its response.
    package var command: String?
    package var message: String?
    package var status: Bool?
    /// For a diagnostic request: times per second.
    package var frequency: Double?
    /// The vehicle interface's own clock: milliseconds.
    package var vehicleTime: Double?
    /// With `raw=1`: the vehicle interface's message as it arrived. JSON is text, protobuf is in hex
    /// preceded by its length. Left out for messages longer than 512 bytes.
    package var raw: String?

    package init(
        n: Int, at: Timestamp, kind: VehicleMessageKind, from: VehicleParty, to: VehicleParty,
        client: Int? = nil, text: String
    ) {
        self.n = n
        self.at = at
        self.kind = kind
        self.from = from
        self.to = to
        self.client = client
        self.text = text
    }

    enum CodingKeys: String, CodingKey {
        case n, at, kind, from, to, client, text, name, value, event, unit, bus, id, data
        case frameFormat = "frame_format"
        case mode, pid, success
        case negativeResponseCode = "negative_response_code"
        case reason, payload, parameter, decoded, frame
        case totalSize = "total_size"
        case command, message, status, frequency
        case vehicleTime = "vehicle_time"
        case raw
    }
}
