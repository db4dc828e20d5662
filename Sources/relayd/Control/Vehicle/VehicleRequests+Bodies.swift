// Converts request bodies to messages; errors say what was expected.

import ControlAPI
import NIOCore
import OpenXCProtocol
import SDLProtocol

extension VehicleCommandRequest {
    static let example = #"{"command": "version"}"#

    /// The command, if it can be asked with one command and one answer.
    func asked() throws(APIError) -> Command {
        switch CommandName(word: command) {
        case .version: return .version
        case .deviceID: return .deviceID
        case .platform: return .platform
        case .vin: return .vin
        case .sdMountStatus: return .sdMountStatus
        case .predefinedOBD2:
            guard let enabled else { throw missing("enabled", "true or false") }
            return .predefinedOBD2(enabled: enabled)
        case .rtcConfiguration:
            let range = 0...Int(UInt32.max)
            guard let unixTime, let time = UInt32(exactly: unixTime) else {
                throw missing(
                    "unix_time", "seconds since 1970, \(range.lowerBound) to \(range.upperBound)")
            }
            return .rtcConfiguration(unixTime: time)
        case .modemConfiguration:
            guard let host, (1...100).contains(host.utf8.count) else {
                throw missing("host", "a name or address of at most 100 characters")
            }
            guard let port, (1...65_535).contains(port) else {
                throw missing("port", "1 to 65535")
            }
            return .modemConfiguration(ModemConfiguration(host: host, port: UInt32(port)))
        case .passthrough, .acceptanceFilterBypass:
            throw APIError(
                .badRequest,
                "\(command) is state of the vehicle interface that somebody has to own; expected "
                    + "POST /v1/vehicle/stream, where it is on as long as the stream is open")
        case .diagnosticRequest:
            throw APIError(
                .badRequest,
                "a diagnostic request has a body of its own; expected POST /v1/vehicle/diagnostic, or "
                    + "POST /v1/vehicle/stream for one that is repeated")
        case .payloadFormat:
            throw APIError(
                .badRequest,
                "the form in which the vehicle interface speaks is the same for all, and relayd's to "
                    + "choose; each client chooses its own with payload_format")
        case .other(let word):
            let known = CommandName.known.map(\.word).joined(separator: ", ")
            throw APIError(
                .badRequest,
                "there is no command \"\(PrintableText.string(word, limit: 40))\"; expected one of \(known)"
            )
        }
    }

    private func missing(_ member: String, _ expected: String) -> APIError {
        APIError(.badRequest, "\(command) needs \"\(member)\"; expected \(expected)")
    }
}

extension VehicleDiagnosticRequest {
    static let example = #"{"bus": 1, "id": 2016, "mode": 1, "pid": 12}"#

    func asked() throws(APIError) -> DiagnosticRequest {
        try DiagnosticRequest(
            bus: Bounds.bus(bus), id: Bounds.identifier(id), mode: Bounds.mode(mode),
            pid: Bounds.pid(pid),
            payload: Bounds.bytes(payload, "payload", DiagnosticRequest.maximumPayload),
            multipleResponses: multipleResponses)
    }

    func wait() throws(APIError) -> TimeAmount {
        let wait = waitMilliseconds ?? Self.usualWait
        try Bounds.check(wait, "wait_milliseconds", Self.waits)
        return .milliseconds(Int64(wait))
    }
}

extension VehicleRepeatedRequest {
    func asked() throws(APIError) -> DiagnosticRequest {
        guard frequency > 0, frequency <= Self.maximumFrequency else {
            throw APIError(
                .badRequest,
                "frequency is \(frequency); expected more than 0 and at most 10, the times a second that "
                    + "firmware takes")
        }
        return try DiagnosticRequest(
            bus: Bounds.bus(bus), id: Bounds.identifier(id), mode: Bounds.mode(mode),
            pid: Bounds.pid(pid),
            payload: Bounds.bytes(payload, "payload", DiagnosticRequest.maximumPayload),
            multipleResponses: multipleResponses, frequency: frequency)
    }
}

extension VehicleStreamBody {
    static let example =
        #"{"passthrough": [1], "diagnostics": [{"id": 2016, "mode": 1, "pid": 12, "frequency": 1}]}"#

    /// The commands, in the order of the members.
    func asked() throws(APIError) -> [Command] {
        var commands: [Command] = []
        for bus in passthrough ?? [] {
            commands.append(.passthrough(bus: try Bounds.bus(bus), enabled: true))
        }
        for bus in acceptanceFilterBypass ?? [] {
            commands.append(.acceptanceFilterBypass(bus: try Bounds.bus(bus), bypass: true))
        }
        for request in diagnostics ?? [] {
            commands.append(.diagnosticRequest(.add, try request.asked()))
        }
        guard commands.count <= Self.maximumWishes else {
            throw APIError(
                .badRequest,
                "the body has \(commands.count) requests; expected at most \(Self.maximumWishes)")
        }
        return commands
    }
}

extension VehicleWriteRequest {
    static let example =
        #"{"bus": 1, "id": 2016, "data": "0x0102"} or {"name": "horn", "value": true}"#

    /// Longest name and longest text that firmware keeps, in bytes.
    private static let maximumName = 99
    private static let maximumText = 127

    func asked() throws(APIError) -> VehicleMessage.Content {
        switch (name, value, id, data) {
        case (let name?, let value?, nil, nil):
            guard bus == nil, frameFormat == nil else { break }
            guard (1...Self.maximumName).contains(name.utf8.count) else {
                throw APIError(
                    .badRequest,
                    "name has \(name.utf8.count) bytes; expected 1 to \(Self.maximumName)")
            }
            return .measurement(
                Measurement(
                    name, try Self.value(value, "value"),
                    event: try event.map { value throws(APIError) in try Self.value(value, "event")
                    }))
        case (nil, nil, let id?, let data?):
            guard event == nil else { break }
            let bytes = try Bounds.bytes(data, "data", CANMessage.maximumBytes) ?? []
            return .can(
                CANMessage(
                    bus: try Bounds.bus(bus), id: try Bounds.identifier(id), data: bytes,
                    format: try format()))
        default: break
        }
        throw APIError(
            .badRequest,
            "the body is neither a measurement (name, value and, of an event, event) nor a CAN frame "
                + "(id, data and, if wanted, bus and frame_format); expected \(Self.example)")
    }

    private func format() throws(APIError) -> CANMessage.FrameFormat? {
        guard let frameFormat else { return nil }
        guard let format = CANMessage.FrameFormat(rawValue: frameFormat) else {
            let shown = PrintableText.string(frameFormat, limit: 40)
            throw APIError(
                .badRequest, "frame_format is \"\(shown)\"; expected standard or extended")
        }
        return format
    }

    private static func value(
        _ value: VehicleScalar, _ member: String
    ) throws(APIError) -> VehicleValue {
        switch value {
        case .flag(let flag): return .flag(flag)
        case .number(let number):
            guard number.isFinite else {
                throw APIError(.badRequest, "\(member) is not a finite number")
            }
            return .number(number)
        case .text(let text):
            guard text.utf8.count <= maximumText else {
                throw APIError(
                    .badRequest,
                    "\(member) has \(text.utf8.count) bytes; expected at most \(maximumText)")
            }
            return .text(text)
        }
    }
}

/// Checks the bounds of numbers and bytes.
private enum Bounds {
    /// 0 for none.
    static func bus(_ bus: Int?) throws(APIError) -> Int32 {
        guard let bus else { return 0 }
        try check(bus, "bus", VehicleLimits.buses)
        return Int32(clamping: bus)
    }

    static func identifier(_ id: Int) throws(APIError) -> UInt32 {
        try check(id, "id", VehicleLimits.identifiers)
        return UInt32(clamping: id)
    }

    static func mode(_ mode: Int) throws(APIError) -> UInt32 {
        try check(mode, "mode", VehicleLimits.modes)
        return UInt32(clamping: mode)
    }

    /// 0 for none.
    static func pid(_ pid: Int?) throws(APIError) -> UInt32 {
        guard let pid else { return 0 }
        try check(pid, "pid", VehicleLimits.pids)
        return UInt32(clamping: pid)
    }

    static func bytes(
        _ text: String?, _ member: String, _ maximum: Int
    ) throws(APIError) -> [UInt8]? {
        guard let text else { return nil }
        guard let bytes = HexText.bytes(text, maximum: maximum) else {
            let shown = PrintableText.string(text, limit: 40)
            throw APIError(
                .badRequest,
                "\(member) is \"\(shown)\"; expected at most \(maximum) bytes as pairs of hexadecimal "
                    + "digits, such as 0x0102")
        }
        return bytes
    }

    static func check(_ value: Int, _ member: String, _ range: ClosedRange<Int>) throws(APIError) {
        guard !range.contains(value) else { return }
        throw APIError(
            .badRequest,
            "\(member) is \(value); expected \(range.lowerBound) to \(range.upperBound)")
    }
}
