/// Leads one phone into accessory mode: 51 get protocol, 52 six strings, 53 start, then the phone
/// leaves the bus and comes back at the same port as another device (Android's AOA documentation).
/// Decisions only; `USBPumpThread` sends the requests and watches the bus.
struct AccessorySwitch {
    enum Step: Hashable {
        case send(USBControlRequest)
        /// Watch the port; the phone has `reappearLimit` from now.
        case awaitReturn
        /// Nothing new to do.
        case stay
        /// The phone is back as an accessory: open it.
        case open(USBDeviceDescription)
        case fail(LinkProblem, isFinal: Bool)
    }

    /// Hosts wait for a few seconds. A phone that takes longer is still opened when it appears; this only sets when
    /// the status says that it is late.
    static let reappearLimit: Duration = .seconds(5)

    private enum State {
        case askingProtocol
        /// The string with this index is under way.
        case sending(Int)
        case starting
        case awaitingReturn
        case over
    }

    private let phone: USBDeviceDescription
    private let strings: [String]
    private var state = State.askingProtocol
    /// Whether the phone has been seen to leave.
    private var hasLeft = false

    init(phone: USBDeviceDescription, identity: AndroidAccessory.Identity) {
        self.phone = phone
        strings = identity.strings
    }

    func start() -> Step {
        .send(
            USBControlRequest(type: 0xC0, request: AndroidAccessory.Request.getProtocol, length: 2))
    }

    /// The request under way has ended.
    mutating func ended(_ reply: USBControlReply) -> Step {
        switch (state, reply) {
        case (.askingProtocol, .done(let bytes)):
            let version = bytes.count == 2 ? UInt16(bytes[0]) | UInt16(bytes[1]) << 8 : 0
            guard version > 0 else { return unsupported("it says that it has no accessory mode") }
            return send(string: 0)
        case (.askingProtocol, .stalled):
            return unsupported("it refused the question for its protocol version")
        case (.sending(let index), .done):
            if index + 1 < strings.count { return send(string: index + 1) }
            state = .starting
            return .send(
                USBControlRequest(type: 0x40, request: AndroidAccessory.Request.start, length: 0))
        case (.sending(let index), .stalled):
            return unsupported("it refused string \(index)")
        case (.starting, .stalled):
            return unsupported("it refused to start")
        case (.starting, _):
            // A phone that leaves at once breaks off its own answer.
            state = .awaitingReturn
            return .awaitReturn
        case (.askingProtocol, _), (.sending, _):
            return broken(reply)
        case (.awaitingReturn, _), (.over, _):
            return .stay
        }
    }

    /// A device has left, the phone or another.
    mutating func left(_ device: USBDeviceDescription) -> Step {
        if isThePhone(device) { hasLeft = true }
        return .stay
    }

    /// A device has appeared, the phone or another.
    mutating func appeared(_ device: USBDeviceDescription) -> Step {
        guard case .awaitingReturn = state, device.portPath == phone.portPath else { return .stay }
        state = .over
        if device.isInAccessoryMode { return .open(device) }
        let isAudio =
            device.vendor == AndroidAccessory.vendor
            && AndroidAccessory.audioOnlyProducts.contains(device.product)
        return fail(
            .unsupported,
            isAudio
                ? "\(phone.placeAndName) came back in accessory mode for audio only"
                : "\(phone.placeAndName) came back as \(device.identifier), not in accessory mode",
            remedy: "unlock the phone, and install an app that accepts this accessory")
    }

    /// `reappearLimit` has passed.
    mutating func deadlinePassed() -> Step {
        guard case .awaitingReturn = state else { return .stay }
        state = .over
        return hasLeft
            ? fail(
                .timedOut,
                "\(phone.placeAndName) left to come back in accessory mode and has not returned",
                remedy: "unlock the phone, check the cable; it is opened when it appears")
            : fail(
                .timedOut, "\(phone.placeAndName) was told to enter accessory mode and did not",
                remedy: "unlock the phone, or plug it in again")
    }

    private func isThePhone(_ device: USBDeviceDescription) -> Bool {
        device.bus == phone.bus && device.number == phone.number
    }

    private mutating func send(string index: Int) -> Step {
        state = .sending(index)
        let data = Array(strings[index].utf8) + [0]
        return .send(
            USBControlRequest(
                type: 0x40, request: AndroidAccessory.Request.sendString, index: UInt16(index),
                data: data, length: UInt16(data.count)))
    }

    // MARK: Ends

    private mutating func unsupported(_ reason: String) -> Step {
        state = .over
        return .fail(
            LinkProblem(
                .unsupported,
                "\(phone.placeAndName) cannot be switched to accessory mode: \(reason)",
                remedy: "use an Android phone; after a change unplug it and plug it in again"),
            isFinal: true)
    }

    private mutating func broken(_ reply: USBControlReply) -> Step {
        state = .over
        switch reply {
        case .gone:
            return .fail(
                LinkProblem(.vanished, "\(phone.placeAndName) was unplugged"), isFinal: false)
        case .timedOut:
            return fail(
                .timedOut,
                "\(phone.placeAndName) did not answer while it was being switched to "
                    + "accessory mode", remedy: "unlock the phone, or plug it in again")
        case .failed(let words):
            return fail(
                .other, "switching \(phone.placeAndName) to accessory mode failed: \(words)",
                remedy: "check the cable")
        case .done, .stalled:
            return .stay
        }
    }

    private func fail(_ code: LinkProblem.Code, _ message: String, remedy: String) -> Step {
        .fail(LinkProblem(code, message, remedy: remedy), isFinal: false)
    }
}
