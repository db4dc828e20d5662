/// Interprets the members of an object. Reads one object; `VehicleMessageReader` finds where messages begin
/// and end in a stream.
///
/// A `Span` cannot be stored, so the text is passed to every function that reads it.
struct JSONReading {
    private let members: JSONMembers
    /// Whether some text in the object was not valid Unicode.
    private(set) var repaired = false

    /// - Parameter at: The offset of the bracket; past the object afterwards.
    init(_ text: Span<UInt8>, _ at: inout Int) throws(JSONStop) {
        members = try JSONMembers(text, &at)
    }

    // MARK: - Messages

    /// The tests, in this order, are the union of those in the known clients.
    mutating func message(_ text: Span<UInt8>) throws(MessageProblem) -> VehicleMessage {
        try VehicleMessage(
            content(text), timestamp: timestamp(text), extras: fragment(.extras, text))
    }

    private mutating func content(
        _ text: Span<UInt8>
    ) throws(MessageProblem) -> VehicleMessage.Content {
        if members.has(.commandResponse) { return .response(try response(text)) }
        if members.has(.command) { return .command(try command(text)) }
        let hasID = members.has(.id) || members.has(.messageID)
        if members.has(.frame), members.has(.payload) { return .diagnostic(try diagnostic(text)) }
        if members.has(.data), members.has(.id) { return .can(try can(text)) }
        if members.has(.mode), hasID { return .diagnostic(try diagnostic(text)) }
        if members.has(.name), let state = try value(.value, text) {
            let name = try string(.name, text)
            guard !name.isEmpty else { throw .missing }
            return .measurement(Measurement(name, state, event: try value(.event, text)))
        }
        if let header = fragment(.metadata, text) { return .header(header) }
        return .unknown(whole(text))
    }

    private func timestamp(_ text: Span<UInt8>) throws(MessageProblem) -> Double? {
        guard let time = try number(.timestamp, text) else { return nil }
        guard time <= VehicleMessage.latestTimestamp else { throw .outOfRange }
        return time > 0 ? time : nil
    }

    private func can(_ text: Span<UInt8>) throws(MessageProblem) -> CANMessage {
        try CANMessage(
            bus: integer(.bus, text, absent: 0), id: needed(integer(.id, text)),
            data: needed(bytes(.data, text, maximum: CANMessage.maximumBytes)),
            format: choice(.frameFormat, text))
    }

    private mutating func diagnostic(_ text: Span<UInt8>) throws(MessageProblem)
        -> DiagnosticResponse
    {
        try DiagnosticResponse(
            bus: integer(.bus, text, absent: 0), id: integer(idKey, text, absent: 0),
            mode: integer(.mode, text, absent: 0), pid: integer(.pid, text, absent: 0),
            success: flag(.success, text) == true,
            negativeResponseCode: integer(.negativeResponseCode, text, absent: 0),
            payload: bytes(.payload, text, maximum: DiagnosticResponse.maximumPayload),
            value: value(.value, text), frame: integer(.frame, text),
            totalSize: integer(.totalSize, text, absent: 0))
    }

    /// The text of the format and some firmware between 8.1 and 8.2 use `message_id`.
    private var idKey: JSONMembers.Key { members.has(.id) ? .id : .messageID }

    private mutating func response(_ text: Span<UInt8>) throws(MessageProblem) -> CommandResponse {
        try CommandResponse(
            CommandName(word: string(.commandResponse, text)),
            message: members.has(.message) ? string(.message, text) : "",
            status: flag(.status, text) == true)
    }

    private mutating func command(_ text: Span<UInt8>) throws(MessageProblem) -> Command {
        switch CommandName(word: try string(.command, text)) {
        case .version: return .version
        case .deviceID: return .deviceID
        case .platform: return .platform
        case .vin: return .vin
        case .sdMountStatus: return .sdMountStatus
        case .passthrough:
            return .passthrough(
                bus: try integer(.bus, text, absent: 0), enabled: try needed(flag(.enabled, text)))
        case .acceptanceFilterBypass:
            return .acceptanceFilterBypass(
                bus: try integer(.bus, text, absent: 0), bypass: try needed(flag(.bypass, text)))
        case .payloadFormat: return .payloadFormat(try needed(choice(.format, text)))
        case .predefinedOBD2: return .predefinedOBD2(enabled: try needed(flag(.enabled, text)))
        case .diagnosticRequest:
            let action: Command.DiagnosticAction = try needed(choice(.action, text))
            // The text of the format has the second key; firmware reads only the first.
            let key = members.has(.request) ? JSONMembers.Key.request : .diagnosticRequest
            var inner = try needed(nested(key, text))
            let request = try inner.request(text)
            repaired = repaired || inner.repaired
            return .diagnosticRequest(action, request)
        case .modemConfiguration: return .modemConfiguration(try modem(text))
        case .rtcConfiguration:
            return .rtcConfiguration(unixTime: try needed(integerOrText(.unixTime, text)))
        case .other(let word): return .other(name: word, object: whole(text))
        }
    }

    private mutating func request(_ text: Span<UInt8>) throws(MessageProblem) -> DiagnosticRequest {
        let id: UInt32 = try needed(integer(idKey, text))
        let mode: UInt32 = try needed(integer(.mode, text))
        guard id > 0, (1...255).contains(mode) else { throw .outOfRange }
        let frequency = try members.has(.frequency) ? needed(number(.frequency, text)) : 0
        guard frequency >= 0 else { throw .outOfRange }
        return try DiagnosticRequest(
            bus: integer(.bus, text, absent: 0), id: id, mode: mode,
            pid: integer(.pid, text, absent: 0),
            payload: bytes(.payload, text, maximum: DiagnosticRequest.maximumPayload),
            multipleResponses: flag(.multipleResponses, text), frequency: frequency,
            name: members.has(.name) ? string(.name, text) : nil,
            decodedType: choice(.decodedType, text))
    }

    /// The server may be a nested object or not, and the port a text or a number: clients differ.
    private mutating func modem(_ text: Span<UInt8>) throws(MessageProblem) -> ModemConfiguration {
        var server = self
        if let inner = try nested(.server, text) { server = inner }
        let host = server.members.has(.host) ? try server.string(.host, text) : nil
        repaired = repaired || server.repaired
        return ModemConfiguration(host: host, port: try server.integerOrText(.port, text))
    }

    // MARK: - Values

    private func needed<Value>(_ value: Value?) throws(MessageProblem) -> Value {
        guard let value else { throw .missing }
        return value
    }

    private mutating func string(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> String {
        guard let token = members[key] else { throw .missing }
        guard token.kind == .string else { throw .wrongKind }
        return JSONStrings.text(token, in: text, repaired: &repaired)
    }

    private func number(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> Double? {
        guard let token = members[key] else { return nil }
        guard token.kind == .number else { throw .wrongKind }
        guard let number = JSONNumber.value(text.extracting(token.range)) else { throw .outOfRange }
        return number
    }

    private func integer<Value: FixedWidthInteger>(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> Value? {
        guard let number = try number(key, text) else { return nil }
        guard let value = Value(exactly: number) else { throw .outOfRange }
        return value
    }

    private func integer<Value: FixedWidthInteger>(
        _ key: JSONMembers.Key, _ text: Span<UInt8>, absent: Value
    ) throws(MessageProblem) -> Value {
        guard let value: Value = try integer(key, text) else { return absent }
        return value
    }

    private func integerOrText<Value: FixedWidthInteger>(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> Value? {
        guard let token = members[key], token.kind == .string else {
            return try integer(key, text)
        }
        guard let value = Value(JSONStrings.string(text.extracting(token.content))) else {
            throw .outOfRange
        }
        return value
    }

    private func flag(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> Bool? {
        guard let token = members[key] else { return nil }
        switch token.kind {
        case .true: return true
        case .false: return false
        default: throw .wrongKind
        }
    }

    private func bytes(
        _ key: JSONMembers.Key, _ text: Span<UInt8>, maximum: Int
    ) throws(MessageProblem) -> [UInt8]? {
        guard let token = members[key] else { return nil }
        guard token.kind == .string else { throw .wrongKind }
        return try HexText.bytes(text.extracting(token.content), maximum: maximum)
    }

    /// A word out of a fixed list.
    private func choice<Choice: RawRepresentable<String>>(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> Choice? {
        guard let token = members[key] else { return nil }
        guard token.kind == .string,
            let choice = Choice(rawValue: JSONStrings.string(text.extracting(token.content)))
        else { throw .wrongKind }
        return choice
    }

    /// Nil when absent, and when it is a list or an object.
    private mutating func value(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> VehicleValue? {
        guard let token = members[key] else { return nil }
        switch token.kind {
        case .string: return .text(JSONStrings.text(token, in: text, repaired: &repaired))
        case .number: return .number(try needed(number(key, text)))
        case .true: return .flag(true)
        case .false: return .flag(false)
        case .object, .array, .null, .absent: return nil
        }
    }

    private func nested(
        _ key: JSONMembers.Key, _ text: Span<UInt8>
    ) throws(MessageProblem) -> JSONReading? {
        guard let token = members[key] else { return nil }
        guard token.kind == .object else { throw .wrongKind }
        var at = token.range.lowerBound
        do {
            return try JSONReading(text, &at)
        } catch {
            // Cannot happen: the fragment was checked with the whole object.
            throw .notJSON
        }
    }

    private func fragment(_ key: JSONMembers.Key, _ text: Span<UInt8>) -> JSONFragment? {
        guard let token = members[key] else { return nil }
        return JSONFragment(wellFormed: JSONStrings.string(text.extracting(token.range)))
    }

    private func whole(_ text: Span<UInt8>) -> JSONFragment {
        JSONFragment(wellFormed: JSONStrings.string(text.extracting(members.range)))
    }
}

extension VehicleMessage {
    /// 2^53: the last whole number that a JSON reader cannot mistake for its neighbour.
    package static let latestTimestamp = 9_007_199_254_740_992.0

    /// Reads one message in JSON, with or without blanks around it: a line of a trace.
    package init(json text: Span<UInt8>) throws(MessageProblem) {
        var at = 0
        var reading: JSONReading
        do throws(JSONStop) {
            try JSONCursor.skipBlanks(text, &at)
            reading = try JSONReading(text, &at)
        } catch {
            if case .malformed(let problem, _) = error { throw problem }
            throw .notJSON
        }
        while at < text.count {
            guard text[at] == 0x20 || (0x09...0x0D).contains(text[at]) else { throw .notJSON }
            at += 1
        }
        self = try reading.message(text)
    }
}
