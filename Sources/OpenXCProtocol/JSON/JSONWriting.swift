extension VehicleMessage {
    /// Appends the message as one JSON object in ASCII, on one line and without a delimiter. The members are
    /// in the order in which firmware sends them.
    package func appendJSON(to text: inout [UInt8]) {
        switch content {
        case .unknown(let object), .command(.other(_, let object)):
            // Including all other members that it carries.
            JSONStrings.append(object, to: &text)
            return
        default: break
        }
        var object = JSONWriting(&text)
        object.put("timestamp", timestamp)
        switch content {
        case .measurement(let measurement):
            object.put("name", measurement.name)
            object.put("value", measurement.value)
            object.put("event", measurement.event)
        case .can(let message): object.put(message)
        case .diagnostic(let response): object.put(response)
        case .command(let command): object.put(command)
        case .response(let response):
            object.put("command_response", response.command.word)
            object.put("message", response.message)
            object.put("status", response.status)
        case .header(let metadata): object.put("metadata", metadata)
        case .unknown: break
        }
        object.put("extras", extras)
        object.finish(into: &text)
    }

    package var json: String {
        var text: [UInt8] = []
        appendJSON(to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

/// One JSON object that grows member by member. Members that are nil are left out.
private struct JSONWriting {
    private var text: [UInt8]
    private var isEmpty = true

    /// Takes the text over until `finish` returns it, so that nothing is copied.
    init(_ text: inout [UInt8]) {
        self.text = []
        swap(&self.text, &text)
        self.text.append(UInt8(ascii: "{"))
    }

    /// Swaps the text back. Returning it would copy it, with all the messages before this one.
    mutating func finish(into text: inout [UInt8]) {
        self.text.append(UInt8(ascii: "}"))
        swap(&self.text, &text)
    }

    private mutating func key(_ key: StaticString) {
        if !isEmpty { text.append(UInt8(ascii: ",")) }
        isEmpty = false
        text.append(UInt8(ascii: "\""))
        text.append(
            contentsOf: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
        text.append(UInt8(ascii: "\""))
        text.append(UInt8(ascii: ":"))
    }

    mutating func put(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        JSONStrings.append(value, to: &text)
    }

    mutating func put(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        key(name)
        text.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func put(_ name: StaticString, _ value: Double?) {
        guard let value else { return }
        key(name)
        JSONNumber.append(value, to: &text)
    }

    mutating func put(_ name: StaticString, _ value: (some FixedWidthInteger)?) {
        guard let value else { return }
        key(name)
        JSONNumber.append(value, to: &text)
    }

    mutating func put(_ name: StaticString, _ bytes: [UInt8]?) {
        guard let bytes else { return }
        key(name)
        text.append(UInt8(ascii: "\""))
        HexText.append(bytes, to: &text)
        text.append(UInt8(ascii: "\""))
    }

    mutating func put(_ name: StaticString, _ fragment: JSONFragment?) {
        guard let fragment else { return }
        key(name)
        JSONStrings.append(fragment, to: &text)
    }

    mutating func put(_ name: StaticString, _ value: VehicleValue?) {
        switch value {
        case .number(let number): put(name, number)
        case .text(let string): put(name, string)
        case .flag(let flag): put(name, flag)
        case nil: break
        }
    }

    mutating func put(_ name: StaticString, _ body: (inout JSONWriting) -> Void) {
        key(name)
        var inner = JSONWriting(&text)
        body(&inner)
        inner.finish(into: &text)
    }

    // MARK: - Messages

    /// A bus of 0 is left out.
    private mutating func put(bus: Int32) {
        put("bus", bus == 0 ? nil : bus)
    }

    mutating func put(_ message: CANMessage) {
        put(bus: message.bus)
        put("id", message.id)
        put("data", message.data)
        put("frame_format", message.format?.rawValue)
    }

    /// Always with `pid`, as firmware 8 does: the iOS framework needs it.
    mutating func put(_ response: DiagnosticResponse) {
        put(bus: response.bus)
        put("id", response.id)
        put("mode", response.mode)
        put("success", response.success)
        put("pid", response.pid)
        let code = response.negativeResponseCode
        put("negative_response_code", code == 0 ? nil : code)
        put("value", response.value)
        put("payload", response.payload)
        put("frame", response.frame)
        put("total_size", response.isSegment ? response.totalSize : nil)
    }

    mutating func put(_ command: Command) {
        put("command", command.name.word)
        switch command {
        case .version, .deviceID, .platform, .vin, .sdMountStatus, .other: break
        case .passthrough(let bus, let enabled):
            put(bus: bus)
            put("enabled", enabled)
        case .acceptanceFilterBypass(let bus, let bypass):
            put(bus: bus)
            put("bypass", bypass)
        case .payloadFormat(let format): put("format", format.rawValue)
        case .predefinedOBD2(let enabled): put("enabled", enabled)
        case .diagnosticRequest(let action, let request):
            put("action", action.rawValue)
            put("request") { $0.put(request) }
        case .modemConfiguration(let modem):
            // Both where firmware looks for the server and where the text of the format puts it.
            put("host", modem.host)
            put("port", modem.port)
            guard modem.host != nil || modem.port != nil else { break }
            put("server") { server in
                server.put("host", modem.host)
                server.put("port", modem.port)
            }
        case .rtcConfiguration(let unixTime): put("unix_time", unixTime)
        }
    }

    private mutating func put(_ request: DiagnosticRequest) {
        put(bus: request.bus)
        put("id", request.id)
        put("mode", request.mode)
        put("pid", request.pid == 0 ? nil : request.pid)
        put("payload", request.payload)
        put("multiple_responses", request.multipleResponses)
        put("frequency", request.frequency == 0 ? nil : request.frequency)
        put("name", request.name)
        put("decoded_type", request.decodedType?.rawValue)
    }
}
