package import OpenXCProtocol
import OpenXCRelay
import RelayCore
import SDLProtocol

/// Vehicle traffic in words: one line for each entry, without a time. Strings from peers appear without
/// control characters and without invisible ones.
package enum VehicleText {
    /// Longest text from a peer in a line, in characters.
    static let maximumText = 200

    /// Sender, receiver and message: `#2 → vehicle  version`.
    package static func line(_ entry: VehicleEntry) -> String {
        switch entry.content {
        case .heard(let message, let destination, _):
            "vehicle → \(name(of: destination))  \(words(message))"
        case .sent(let message, let client):
            "\(client.map(name) ?? "relayd") → vehicle  \(asked(message))"
        case .answered(let message, let client):
            "relayd → \(name(client))  \(words(message))"
        case .noted(let note): "\(name(note.client)) → nobody  \(words(note))"
        case .linkOpened(let address): "the link to \(clean(address)) is open"
        case .linkClosed(let reason): "the link is closed: \(clean(reason))"
        case .missed(let messages):
            "\(messages) message\(messages == 1 ? "" : "s") passed without being seen"
        }
    }

    /// The words of an entry, without sender and receiver.
    package static func words(_ entry: VehicleEntry) -> String {
        switch entry.content {
        case .heard(let message, _, _), .answered(let message, _): words(message)
        case .sent(let message, _): asked(message)
        case .noted(let note): words(note)
        case .linkOpened, .linkClosed, .missed: line(entry)
        }
    }

    private static func name(of destination: VehicleRouter<AppID>.Destination) -> String {
        switch destination {
        case .all: "all"
        case .client(let client): name(client)
        case .nobody: "relayd"
        }
    }

    private static func name(_ client: AppID) -> String {
        client.isVehicleGuest ? "API" : "\(client)"
    }

    // MARK: - Messages

    package static func words(_ message: VehicleMessage) -> String {
        switch message.content {
        case .measurement(let measurement): words(measurement)
        case .can(let frame): words(frame)
        case .diagnostic(let response): words(response)
        case .command(let command): words(command)
        case .response(let response): words(response)
        case .header: "the header of a trace"
        case .unknown(let object): "unknown: \(clean(object.text))"
        }
    }

    /// The words of a message to the vehicle: there, a measurement or a frame is a write.
    private static func asked(_ message: VehicleMessage) -> String {
        switch message.content {
        case .measurement, .can: "write \(words(message))"
        default: words(message)
        }
    }

    package static func words(_ measurement: Measurement) -> String {
        var text = "\(clean(measurement.name)) \(words(measurement.value))"
        if let event = measurement.event { text += " \(words(event))" }
        if let unit = SignalUnits.unit(of: measurement.name), case .number = measurement.value {
            text += unit == "°" || unit == "%" ? unit : " \(unit)"
        }
        return text
    }

    package static func words(_ frame: CANMessage) -> String {
        var text = "CAN \(bus(frame.bus))\(hex(frame.id)) [\(frame.data.count)]"
        for byte in frame.data { text += " \(byte.hexDigits)" }
        if frame.format == .extended { text += " extended" }
        return text
    }

    package static func words(_ response: DiagnosticResponse) -> String {
        var text = request(response.bus, response.id, response.mode, response.pid)
        if let parameter = OBD2Parameter.find(mode: response.mode, pid: response.pid) {
            text += " (\(parameter.name))"
        }
        if let frame = response.frame {
            text += frame == -1 ? ", last piece" : ", piece \(frame)"
        }
        guard response.success else {
            let code = response.negativeResponseCode
            return text
                + (code == 0
                    ? ": failed" : ": refused, \(hex(code)) \(NegativeResponse.words(of: code))")
        }
        let said = [
            response.value.map(words), response.payload.map { "payload \(hex($0))" },
        ].compactMap { $0 }.joined(separator: ", ")
        guard let (number, unit) = DecodedAnswer.of(response) else {
            return "\(text): \(said.isEmpty ? "positive" : said)"
        }
        let decoded = unit.isEmpty ? self.number(number) : "\(self.number(number)) \(unit)"
        if case .number(number) = response.value { return "\(text): \(decoded)" }
        return "\(text): \(decoded) (\(said))"
    }

    private static func words(_ response: CommandResponse) -> String {
        let text = "\(clean(response.command.word)): "
        let message = clean(response.message)
        guard response.status else {
            return text + (message.isEmpty ? "refused" : "refused, \(message)")
        }
        return text + (message.isEmpty ? "done" : message)
    }

    package static func words(_ command: Command) -> String {
        let name = command.name.word
        return switch command {
        case .version, .deviceID, .platform, .vin, .sdMountStatus: name
        case .passthrough(let bus, let isOn), .acceptanceFilterBypass(let bus, let isOn):
            "\(name) \(self.bus(bus))\(isOn ? "on" : "off")"
        case .payloadFormat(let format): "\(name) \(format.rawValue)"
        case .predefinedOBD2(let isOn): "\(name) \(isOn ? "on" : "off")"
        case .diagnosticRequest(let action, let request): "\(action.rawValue) \(words(request))"
        case .modemConfiguration: name
        case .rtcConfiguration(let time): "\(name) \(time)"
        case .other(let name, _): clean(name)
        }
    }

    package static func words(_ request: DiagnosticRequest) -> String {
        var text = self.request(request.bus, request.id, request.mode, request.pid)
        if let parameter = OBD2Parameter.find(mode: request.mode, pid: request.pid) {
            text += " (\(parameter.name))"
        }
        if let payload = request.payload { text += ", payload \(hex(payload))" }
        if request.isRecurring { text += ", \(number(request.frequency)) times a second" }
        return text
    }

    private static func words(_ note: Note<AppID>) -> String {
        switch note {
        case .written(_, let message): asked(message)
        case .writeRefused(_, let message): "\(asked(message)): refused, openxc.writes allows it"
        case .nobodyThere(_, let message):
            "\(asked(message)): no vehicle interface is connected"
        case .tooManyCommands(_, let message):
            "\(asked(message)): left out, too many commands wait for an answer"
        case .notForVehicle(_, let message):
            "\(words(message)): not something that a vehicle interface accepts"
        case .unsafe(_, let message, let hazard):
            "\(words(message)): not passed on, \(clean(hazard.description))"
        case .unanswered(_, let command):
            "\(clean(command.word)): the vehicle interface has not answered"
        }
    }

    // MARK: - Pieces

    package static func words(_ value: VehicleValue) -> String {
        switch value {
        case .number(let number): self.number(number)
        case .text(let text): clean(text)
        case .flag(let flag): flag ? "true" : "false"
        }
    }

    /// At most six digits after the point: firmware computes in 32 bits and has no more.
    package static func number(_ value: Double) -> String {
        guard value.magnitude < 1e15 else { return "\(value)" }
        let scaled = (value * 1_000_000).rounded() / 1_000_000
        let text = "\(scaled)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// A bus of 0 is left out.
    private static func bus(_ bus: Int32) -> String { bus == 0 ? "" : "bus \(bus) " }

    private static func request(
        _ bus: Int32, _ id: UInt32, _ mode: UInt32, _ pid: UInt32
    ) -> String {
        "diagnostic \(self.bus(bus))\(hex(id)) mode \(hex(mode))"
            + (pid == 0 ? "" : " pid \(hex(pid))")
    }

    package static func hex(_ number: UInt32) -> String {
        "0x" + number.hexDigits(atLeast: 2)
    }

    package static func hex(_ bytes: [UInt8]) -> String {
        "0x" + bytes.map(\.hexDigits).joined()
    }

    /// A message as it came: JSON as text, protobuf in hex with its length, and JSON that is not valid text
    /// in hex as well; nil for a message that was not kept.
    package static func wire(_ bytes: [UInt8]) -> String? {
        guard bytes.count > 1 else { return nil }
        // A length may look like a brace; then 08 follows.
        let isJSON = bytes[0] == UInt8(ascii: "{") && bytes[1] != 0x08
        return (isJSON ? String(validating: bytes, as: UTF8.self) : nil) ?? hex(bytes)
    }

    static func clean(_ text: String) -> String {
        PrintableText.string(text, limit: maximumText)
    }
}

/// The value of a diagnostic answer whose parameter is known.
package enum DecodedAnswer {
    package static func of(_ response: DiagnosticResponse) -> (number: Double, unit: String)? {
        guard response.success, !response.isSegment,
            let parameter = OBD2Parameter.find(mode: response.mode, pid: response.pid)
        else { return nil }
        let value: Double? = if case .number(let number) = response.value { number } else { nil }
        return parameter.decoded(value: value, payload: response.payload)
            .map { ($0, parameter.unit) }
    }
}
