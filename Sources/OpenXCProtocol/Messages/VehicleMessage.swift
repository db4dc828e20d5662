/// One message of an OpenXC vehicle interface or of one of its clients, in whatever form it travels.
///
/// Where a form cannot distinguish absent from zero or empty, the types here do not either: a `pid` of 0, a
/// `bus` of 0 and an empty `message` mean absent. What only JSON can express is kept separately (`extras`)
/// and is lost in protobuf.
package struct VehicleMessage: Hashable, Sendable {
    package var content: Content
    /// In the unit of the carrier: milliseconds on a link, seconds in a trace file. Nil when the message has
    /// none, or has 0, which firmware without a clock sends.
    package var timestamp: Double?
    /// Additional JSON of any kind (openxc-message-format, "Extra Values").
    package var extras: JSONFragment?

    package enum Content: Hashable, Sendable {
        /// The state of one signal or event; from a client, a request to write it to the vehicle.
        case measurement(Measurement)
        /// A frame of a CAN bus; from a client, a request to send it.
        case can(CANMessage)
        case diagnostic(DiagnosticResponse)
        case command(Command)
        case response(CommandResponse)
        /// First line of a trace file (`metadata`).
        case header(JSONFragment)
        /// Well-formed, but none of the above.
        case unknown(JSONFragment)
    }

    package init(
        _ content: Content, timestamp: Double? = nil, extras: JSONFragment? = nil
    ) {
        self.content = content
        self.timestamp = timestamp
        self.extras = extras
    }
}

/// A piece of well-formed JSON that is passed on uninterpreted.
package struct JSONFragment: Hashable, Sendable {
    package let text: String

    /// - Parameter text: Must be well-formed; control characters in it are blanks between its parts.
    init(wellFormed text: String) {
        self.text = text
    }
}

/// The state of one signal, with what happened to it if it is an event.
package struct Measurement: Hashable, Sendable {
    /// Firmware keeps up to 99 bytes.
    package var name: String
    /// Firmware keeps up to 127 bytes of a text.
    package var value: VehicleValue
    /// Makes it an evented measurement: `pressed` for a button, `true` for a door that is open.
    package var event: VehicleValue?

    package init(_ name: String, _ value: VehicleValue, event: VehicleValue? = nil) {
        self.name = name
        self.value = value
        self.event = event
    }
}

/// The value of a signal.
package enum VehicleValue: Hashable, Sendable {
    /// Always finite.
    case number(Double)
    case text(String)
    case flag(Bool)
}

/// A frame of a CAN bus.
package struct CANMessage: Hashable, Sendable {
    /// 1 or 2; 0 when not given, which a vehicle interface takes for its first bus.
    package var bus: Int32
    /// The arbitration identifier.
    package var id: UInt32
    /// At most `maximumBytes`.
    package var data: [UInt8]
    /// Nil when not given: then an identifier above 0x7ff is an extended one.
    package var format: FrameFormat?

    package enum FrameFormat: String, Hashable, Sendable, CaseIterable {
        case standard
        case extended
    }

    /// The limit of CAN 2.0.
    package static let maximumBytes = 8

    package init(bus: Int32 = 0, id: UInt32, data: [UInt8], format: FrameFormat? = nil) {
        self.bus = bus
        self.id = id
        self.data = data
        self.format = format
    }
}

/// The two forms of the messages on a link.
package enum PayloadFormat: String, Hashable, Sendable, CaseIterable {
    case json
    case protobuf
}
