// What passes between a vehicle interface, relayd and clients, as `Routes.vehicleStream` shows it.

/// Keys of the query of `Routes.vehicleStream`. Of several values of a repeatable key one must match;
/// different keys must all match.
package enum VehicleQueryKey: String, CaseIterable, Sendable {
    /// Only what has a greater number.
    case after
    /// With `after`: the run of relayd that the number is from.
    case instance
    /// Begin with so many of the past.
    case last
    /// 0 to end with the newest.
    case follow
    /// Only measurements of this name; repeatable.
    case name
    /// Only what has to do with this bus; repeatable.
    case bus
    /// Only what has to do with this identifier, such as 0x7e8, or a range of them; repeatable.
    case id
    /// Only diagnostics of this mode; repeatable.
    case mode
    /// Only diagnostics of this PID; repeatable.
    case pid
    /// Repeatable.
    case kind
    /// 1 to see what the vehicle interface says as it came, too.
    case raw

    package var isRepeatable: Bool {
        switch self {
        case .name, .bus, .id, .mode, .pid, .kind: true
        default: false
        }
    }
}

/// What an entry of the stream is.
package struct VehicleMessageKind: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let measurement = VehicleMessageKind(rawValue: "measurement")
    package static let can = VehicleMessageKind(rawValue: "can")
    package static let diagnostic = VehicleMessageKind(rawValue: "diagnostic")
    /// A client asks, or relayd.
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
    /// Well-formed, and nothing of the above.
    package static let other = VehicleMessageKind(rawValue: "other")

    package static let all: [VehicleMessageKind] = [
        measurement, can, diagnostic, command, response, write, refused, link, missed, other,
    ]
}

/// Who says something, or whom it is for.
package struct VehicleParty: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let vehicle = VehicleParty(rawValue: "vehicle")
    /// The one that `client` names.
    package static let client = VehicleParty(rawValue: "client")
    /// Every client whose subscription it fits.
    package static let all = VehicleParty(rawValue: "all")
    package static let relayd = VehicleParty(rawValue: "relayd")
    /// A request of the control API.
    package static let api = VehicleParty(rawValue: "api")
    package static let nobody = VehicleParty(rawValue: "nobody")

    package static let every: [VehicleParty] = [vehicle, client, all, relayd, api, nobody]
}

/// One thing that passed, decoded. What does not apply is left out.
package struct VehicleMessageReport: Codable, Sendable, Equatable {
    /// Its number, from 1 in the order in which relayd saw them.
    package var n: Int
    package var at: Timestamp
    package var kind: VehicleMessageKind
    package var from: VehicleParty
    package var to: VehicleParty
    /// The client that says it, or that it is for.
    package var client: Int?
    /// In words.
    package var text: String
    /// Of a measurement.
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
    /// Of a piece of a long answer: which, from 0; -1 is the last.
    package var frame: Int?
    package var totalSize: Int?
    /// Of a command and its response.
    package var command: String?
    package var message: String?
    package var status: Bool?
    /// Of a diagnostic request: times a second.
    package var frequency: Double?
    /// The vehicle interface's own clock: milliseconds.
    package var vehicleTime: Double?
    /// With `raw=1`: what the vehicle interface said, as it came. JSON is text, protobuf is in hex with its
    /// length in front. Left out of messages longer than 512 bytes.
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
