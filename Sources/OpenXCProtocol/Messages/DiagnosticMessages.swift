/// The answer of a vehicle's module to a diagnostic request, or one piece of a long answer.
package struct DiagnosticResponse: Hashable, Sendable {
    package var bus: Int32
    /// The identifier of the request; after a request to 0x7df, that of the module that answers.
    package var id: UInt32
    /// The service asked for.
    package var mode: UInt32
    /// 0 when there is none.
    package var pid: UInt32
    package var success: Bool
    /// The reason for a failure (ISO 14229-1, annex A); 0 when there is none.
    package var negativeResponseCode: UInt32
    /// At most `maximumPayload` bytes.
    package var payload: [UInt8]?
    /// The payload decoded by the vehicle interface.
    package var value: VehicleValue?
    /// For a long answer: the index of this piece, from 0; -1 is the last.
    package var frame: Int32?
    /// For a long answer: the bytes of the whole; 0 when not given.
    package var totalSize: UInt32

    /// The size of the firmware's buffer.
    package static let maximumPayload = 255

    package init(
        bus: Int32, id: UInt32, mode: UInt32, pid: UInt32 = 0, success: Bool,
        negativeResponseCode: UInt32 = 0, payload: [UInt8]? = nil, value: VehicleValue? = nil,
        frame: Int32? = nil, totalSize: UInt32 = 0
    ) {
        self.bus = bus
        self.id = id
        self.mode = mode
        self.pid = pid
        self.success = success
        self.negativeResponseCode = negativeResponseCode
        self.payload = payload
        self.value = value
        self.frame = frame
        self.totalSize = totalSize
    }

    /// A piece of an answer that did not fit in one message.
    package var isSegment: Bool { frame != nil }
    package var isLastSegment: Bool { frame == -1 }
}

/// A request to a module of the vehicle, made once or repeatedly.
package struct DiagnosticRequest: Hashable, Sendable {
    /// 0 when not given, which a vehicle interface takes for its first bus.
    package var bus: Int32
    package var id: UInt32
    /// The service, 1 to 255.
    package var mode: UInt32
    /// 0 when there is none.
    package var pid: UInt32
    /// At most `maximumPayload` bytes.
    package var payload: [UInt8]?
    /// Whether several modules may answer. When nil, they may if the request goes to all modules.
    package var multipleResponses: Bool?
    /// Frequency in Hz; 0 for once. Firmware refuses more than 10.
    package var frequency: Double
    /// Turns the answers into measurements of this name.
    package var name: String?
    package var decodedType: DecodedType?

    package enum DecodedType: String, Hashable, Sendable, CaseIterable {
        case none
        case obd2
    }

    package static let maximumPayload = 8
    /// Asks all modules that answer to OBD-II (ISO 15765-4).
    package static let everybody: UInt32 = 0x7DF

    package init(
        bus: Int32 = 0, id: UInt32, mode: UInt32, pid: UInt32 = 0, payload: [UInt8]? = nil,
        multipleResponses: Bool? = nil, frequency: Double = 0, name: String? = nil,
        decodedType: DecodedType? = nil
    ) {
        self.bus = bus
        self.id = id
        self.mode = mode
        self.pid = pid
        self.payload = payload
        self.multipleResponses = multipleResponses
        self.frequency = frequency
        self.name = name
        self.decodedType = decodedType
    }

    package var isRecurring: Bool { frequency > 0 }
    package var mayHaveSeveralAnswers: Bool { multipleResponses ?? (id == Self.everybody) }
}
