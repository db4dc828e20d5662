/// Asks an OpenXC vehicle interface which firmware it has and which device it is. Decisions only; `USBInquiry`
/// sends the requests beside the link's bytes, which never wait for them.
///
/// OpenXC firmware documentation, "USB" and "Commands": firmware 5 and 6 answer control request 0x80 with their
/// version as text, firmware 6 also 0x82 with the device ID. From firmware 7 on there is 0x83, which takes a whole
/// command in the payload format in force, JSON or protobuf, and whose answer comes among the messages on the bulk
/// endpoint. Only trying shows which of them a device has. 0x81 is never sent: it restarts firmware 5.
struct OpenXCInquiry {
    enum Step: Hashable {
        case send(USBControlRequest)
        /// Answers come with the messages; they have `answerLimit` from now.
        case listen
        /// Nothing new to do.
        case stay
        /// Nothing more is asked, and messages need not be passed on any more.
        case end
    }

    /// What the device has told about itself.
    struct Identity: Hashable {
        /// `8.2.1 (default)`: the number, and the name of its set of messages.
        var version: String?
        /// Usually twelve hexadecimal digits.
        var deviceID: String?

        var isComplete: Bool { version != nil && deviceID != nil }

        /// `firmware 8.2.1 (default), device ID 0012F3000007`; nil when nothing is known.
        var text: String? {
            let parts = [version.map { "firmware \($0)" }, deviceID.map { "device ID \($0)" }]
                .compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: ", ")
        }
    }

    /// The time for the answers in one format; firmware needs a hundredth of it, a message or two.
    static let answerLimit: Duration = .seconds(1)

    /// The longest version and device ID accepted, in bytes (OpenXC firmware 6, "USB").
    private static let versionBytes: UInt16 = 100
    private static let deviceIDBytes: UInt16 = 20

    private enum Format: CaseIterable { case json, protobuf }

    private enum State {
        /// Firmware 5 or 6.
        case askingVersion
        case askingDeviceID
        /// Firmware 7 or later.
        case commandingVersion(Format)
        case commandingDeviceID(Format)
        case listening(Format)
        case over
    }

    /// Firmware up to 5, which has no device ID.
    private let isOld: Bool
    private var state = State.askingVersion
    private var answers = OpenXCAnswers()
    private(set) var identity = Identity()

    /// - Parameter endpointIn: that of the link: 0x81 up to firmware 5, 0x82 later.
    init(endpointIn: UInt8) {
        isOld = endpointIn == USBSelector.oldOpenXC.in
    }

    /// Whether answers may be among the messages.
    var isListening: Bool {
        switch state {
        case .commandingVersion, .commandingDeviceID, .listening: true
        case .askingVersion, .askingDeviceID, .over: false
        }
    }

    func start() -> Step {
        .send(USBControlRequest(type: 0xC0, request: 0x80, length: Self.versionBytes))
    }

    /// The request under way has ended.
    mutating func ended(_ reply: USBControlReply) -> Step {
        switch (state, reply) {
        case (.askingVersion, .done(let bytes)) where OpenXCAnswers.text(bytes) != nil:
            identity.version = OpenXCAnswers.text(bytes)
            guard !isOld else { return end() }
            state = .askingDeviceID
            return .send(USBControlRequest(type: 0xC0, request: 0x82, length: Self.deviceIDBytes))
        case (.askingVersion, .gone):
            return end()
        case (.askingVersion, _):
            return isOld ? end() : command(.json)
        case (.askingDeviceID, .done(let bytes)):
            identity.deviceID = OpenXCAnswers.text(bytes)
            return end()
        case (.commandingVersion(let format), .done):
            state = .commandingDeviceID(format)
            return .send(Self.request(format == .json ? Self.jsonDeviceID : Self.protobufDeviceID))
        case (.commandingDeviceID(let format), .done):
            guard !identity.isComplete else { return end() }
            state = .listening(format)
            return .listen
        case (.askingDeviceID, _), (.commandingVersion, _), (.commandingDeviceID, _):
            return end()
        case (.listening, _), (.over, _):
            return .stay
        }
    }

    /// Examines bytes from the device, which the link passes on as they are.
    mutating func received(_ bytes: UnsafeRawBufferPointer) -> Step {
        guard isListening else { return .stay }
        answers.add(bytes, to: &identity)
        if case .listening = state, identity.isComplete { return end() }
        return .stay
    }

    /// `answerLimit` has passed.
    mutating func deadlinePassed() -> Step {
        guard case .listening(let format) = state else { return .stay }
        // A device without a Bluetooth module answers the version alone.
        return format == .json && identity == Identity() ? command(.protobuf) : end()
    }

    private mutating func command(_ format: Format) -> Step {
        state = .commandingVersion(format)
        return .send(Self.request(format == .json ? Self.jsonVersion : Self.protobufVersion))
    }

    private mutating func end() -> Step {
        state = .over
        return .end
    }

    private static func request(_ command: [UInt8]) -> USBControlRequest {
        USBControlRequest(type: 0x40, request: 0x83, data: command, length: UInt16(command.count))
    }

    // OpenXC message format, "Commands": JSON ends with a zero byte, protobuf begins with its length.
    private static let jsonVersion = Array(#"{"command":"version"}"#.utf8) + [0]
    private static let jsonDeviceID = Array(#"{"command":"device_id"}"#.utf8) + [0]
    private static let protobufVersion: [UInt8] = [6, 0x08, 4, 0x2A, 2, 0x08, 1]
    private static let protobufDeviceID: [UInt8] = [6, 0x08, 4, 0x2A, 2, 0x08, 2]
}
