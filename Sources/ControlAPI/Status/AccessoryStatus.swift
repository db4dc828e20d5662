/// The head unit as a device to open: first line of the status.
///
/// relayd's link supervisor provides state and reason, the switchboard the counts.
package struct AccessoryStatus: Codable, Sendable, Equatable {
    /// Kind of transport: "sim", "tcp", "serial", "rfcomm", …
    package let kind: String
    /// The address as configured, e.g. "serial:/dev/ttyUSB0?baud=115200".
    package let address: String
    /// The protocol spoken there. Left out by older versions, which knew only SDL.
    package var `protocol`: AccessoryProtocol?
    /// Whether it is open.
    package let state: AccessoryState
    /// When it entered this state.
    package let since: Timestamp
    /// Why it is not open. Left out while it is open, and before the first attempt.
    package let reason: AccessoryReason?
    /// Failed attempts since it was last open, or since relayd started; 0 while it is open.
    package let attempts: Int
    /// Number of times it was opened since relayd started.
    package let openedCount: Int
    /// Make and model as given by the head unit in its StartServiceACK, e.g. "SDL Core (Generic)".
    package let name: String?
    /// Whole frames received from the accessory.
    package let framesIn: Int
    /// Bytes received from the accessory, garbage included.
    package let bytesIn: Int
    /// Whole frames sent to the accessory.
    package let framesOut: Int
    /// Bytes sent to the accessory.
    package let bytesOut: Int
    /// Bytes from the accessory that belonged to no frame and were skipped.
    package let garbageBytes: Int
    /// What the bytes look like when they are not SDL, e.g. "this looks like an OpenXC stream".
    package let hint: String?
    /// The open device as it describes itself, e.g. "OpenXC Vehicle Interface at port 1-2, firmware 8.2.1
    /// (default)". Left out where the transport cannot tell.
    package var device: String?
    /// Bytes that were read from the accessory and lost because a link ended. Left out where the
    /// transport cannot tell.
    package var lostBytesIn: Int?
    /// Bytes that were on their way to the accessory when a link ended.
    package var lostBytesOut: Int?
    /// When bytes were last lost. Left out when none were.
    package var lostAt: Timestamp?
    /// System calls that hang in a device's driver, e.g. "closing /dev/ttyUSB0". Left out when none
    /// hangs.
    package var hanging: [String]?
    /// When bytes were last skipped. Left out when none were skipped on this link.
    package var garbageAt: Timestamp?
    /// The head unit's reason for being off, e.g. "IGNITION_OFF", when it has answered nothing since; the
    /// link may still be up.
    package var saidOff: String?
    /// When it reported that.
    package var saidOffAt: Timestamp?

    package init(
        kind: String, address: String, state: AccessoryState, since: Timestamp,
        reason: AccessoryReason? = nil, attempts: Int = 0, openedCount: Int = 0,
        name: String? = nil, framesIn: Int = 0, bytesIn: Int = 0, framesOut: Int = 0,
        bytesOut: Int = 0, garbageBytes: Int = 0, hint: String? = nil
    ) {
        self.kind = kind
        self.address = address
        self.state = state
        self.since = since
        self.reason = reason
        self.attempts = attempts
        self.openedCount = openedCount
        self.name = name
        self.framesIn = framesIn
        self.bytesIn = bytesIn
        self.framesOut = framesOut
        self.bytesOut = bytesOut
        self.garbageBytes = garbageBytes
        self.hint = hint
    }

    /// The protocol spoken there, also for the status of an older version.
    package var spoken: AccessoryProtocol { `protocol` ?? .sdl }

    enum CodingKeys: String, CodingKey {
        case kind, address, `protocol`, state, since, reason, attempts
        case openedCount = "opened_count"
        case name
        case framesIn = "frames_in"
        case bytesIn = "bytes_in"
        case framesOut = "frames_out"
        case bytesOut = "bytes_out"
        case garbageBytes = "garbage_bytes"
        case hint, device, hanging
        case lostBytesIn = "lost_bytes_in"
        case lostBytesOut = "lost_bytes_out"
        case lostAt = "lost_at"
        case garbageAt = "garbage_at"
        case saidOff = "said_off"
        case saidOffAt = "said_off_at"
    }
}

/// The protocol of an accessory.
package struct AccessoryProtocol: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// SmartDeviceLink: a head unit.
    package static let sdl = AccessoryProtocol(rawValue: "sdl")
    /// OpenXC: a vehicle interface.
    package static let openxc = AccessoryProtocol(rawValue: "openxc")

    /// The name for such an accessory.
    package var accessory: String { self == .openxc ? "vehicle interface" : "head unit" }
    /// The name for its users, which connect to relayd; an s makes it plural.
    package var client: String { self == .openxc ? "client" : "app" }
}

/// State of the accessory.
package struct AccessoryState: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Bytes can flow.
    package static let open = AccessoryState(rawValue: "open")
    /// An attempt to open it is under way.
    package static let opening = AccessoryState(rawValue: "opening")
    /// relayd waits for the head unit to connect; `reason` says where.
    package static let listening = AccessoryState(rawValue: "listening")
    /// It could not be opened or has vanished; relayd retries automatically. `reason` says why.
    package static let waiting = AccessoryState(rawValue: "waiting")
    /// relayd is not trying: it is stopping, or was told to keep it closed.
    package static let closed = AccessoryState(rawValue: "closed")
}

/// Why the accessory is not open, and what a person can do about it.
package struct AccessoryReason: Codable, Sendable, Equatable {
    /// A word for programs, e.g. "absent", "busy", "permission_denied", "refused", "vanished".
    package let code: String
    /// What happened, e.g. "/dev/ttyUSB0: no such device".
    package let message: String
    /// What to do, e.g. "plug the device in; relayd opens it by itself".
    package let remedy: String

    package init(code: String, message: String, remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }
}
