import ControlAPI
import DecodedTraces
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore

extension VehicleMessageReport {
    /// An entry as the stream shows it.
    ///
    /// - Parameter isRaw: Whether to include the raw bytes of the vehicle interface.
    init(_ entry: VehicleEntry, isRaw: Bool = false) {
        self.init(
            n: Int(clamping: entry.number), at: Timestamp(entry.time), kind: entry.kind,
            from: entry.from, to: .nobody, text: VehicleText.words(entry))
        switch entry.content {
        case .heard(let message, let destination, let wire):
            if isRaw { raw = VehicleText.wire(wire) }
            switch destination {
            case .all: to = .all
            case .client(let id): (to, client) = (id.party, id.client)
            case .nobody: to = .relayd
            }
            put(message)
        case .sent(let message, let id):
            client = id?.client
            to = .vehicle
            put(message)
        case .answered(let message, let id):
            (to, client) = (id.party, id.client)
            put(message)
        case .noted(let note):
            client = note.client.client
            put(note)
        case .linkOpened, .linkClosed, .missed: break
        }
    }

    private mutating func put(_ note: Note<AppID>) {
        switch note {
        case .written(_, let message), .writeRefused(_, let message), .nobodyThere(_, let message),
            .tooManyCommands(_, let message), .notForVehicle(_, let message),
            .unsafe(_, let message, _):
            put(message)
        case .unanswered(_, let name): command = name.word
        }
    }

    private mutating func put(_ content: VehicleMessage) {
        vehicleTime = content.timestamp
        switch content.content {
        case .measurement(let measurement):
            name = measurement.name
            value = VehicleScalar(measurement.value)
            event = measurement.event.map { VehicleScalar($0) }
            unit = SignalUnits.unit(of: measurement.name)
        case .can(let frame):
            bus = busNumber(frame.bus)
            id = Int(frame.id)
            data = VehicleText.hex(frame.data)
            frameFormat = frame.format?.rawValue
        case .diagnostic(let response): put(response)
        case .command(let command): put(command)
        case .response(let response):
            command = response.command.word
            message = response.message
            status = response.status
        case .header, .unknown: break
        }
    }

    private mutating func put(_ response: DiagnosticResponse) {
        let code = response.negativeResponseCode
        bus = busNumber(response.bus)
        id = Int(response.id)
        mode = Int(response.mode)
        pid = Int(response.pid)
        success = response.success
        if code != 0 {
            negativeResponseCode = Int(code)
            reason = NegativeResponse.words(of: code)
        }
        value = response.value.map { VehicleScalar($0) }
        payload = response.payload.map { VehicleText.hex($0) }
        parameter = OBD2Parameter.find(mode: response.mode, pid: response.pid)?.name
        if let known = DecodedAnswer.of(response) {
            decoded = known.number
            unit = known.unit.isEmpty ? nil : known.unit
        }
        frame = response.frame.map { Int($0) }
        totalSize = response.isSegment ? Int(response.totalSize) : nil
    }

    private mutating func put(_ command: Command) {
        self.command = command.name.word
        switch command {
        case .passthrough(let bus, let isOn), .acceptanceFilterBypass(let bus, let isOn):
            self.bus = busNumber(bus)
            value = .flag(isOn)
        case .predefinedOBD2(let isOn): value = .flag(isOn)
        case .payloadFormat(let format): value = .text(format.rawValue)
        case .diagnosticRequest(let action, let request):
            value = .text(action.rawValue)
            bus = busNumber(request.bus)
            id = Int(request.id)
            mode = Int(request.mode)
            pid = Int(request.pid)
            payload = request.payload.map { VehicleText.hex($0) }
            frequency = request.frequency
            parameter = OBD2Parameter.find(mode: request.mode, pid: request.pid)?.name
        case .version, .deviceID, .platform, .vin, .sdMountStatus, .modemConfiguration,
            .rtcConfiguration, .other:
            break
        }
    }
}

extension AppID {
    fileprivate var party: VehicleParty { isVehicleGuest ? .api : .client }
    /// Its number as shown in the status; nil for a request.
    fileprivate var client: Int? { isVehicleGuest ? nil : Int(clamping: rawValue) }
}

extension VehicleEntry {
    /// The sender.
    var from: VehicleParty {
        switch content {
        case .heard: .vehicle
        case .sent(_, let id): id?.party ?? .relayd
        case .noted(let note): note.client.party
        case .answered, .linkOpened, .linkClosed, .missed: .relayd
        }
    }

    /// The kind that the stream's `kind` filters by.
    var kind: VehicleMessageKind {
        switch content {
        case .heard(let message, _, _), .answered(let message, _): Self.kind(message)
        case .sent(let message, _):
            switch message.content {
            case .measurement, .can: .write
            default: Self.kind(message)
            }
        case .noted: .refused
        case .linkOpened, .linkClosed: .link
        case .missed: .missed
        }
    }

    private static func kind(_ message: VehicleMessage) -> VehicleMessageKind {
        switch message.content {
        case .measurement: .measurement
        case .can: .can
        case .diagnostic: .diagnostic
        case .command: .command
        case .response: .response
        case .header, .unknown: .other
        }
    }

    /// The message it is about.
    var message: VehicleMessage? {
        switch content {
        case .heard(let message, _, _), .sent(let message, _), .answered(let message, _): message
        case .noted(.written(_, let message)), .noted(.writeRefused(_, let message)),
            .noted(.nobodyThere(_, let message)), .noted(.tooManyCommands(_, let message)),
            .noted(.notForVehicle(_, let message)), .noted(.unsafe(_, let message, _)):
            message
        case .noted(.unanswered), .linkOpened, .linkClosed, .missed: nil
        }
    }
}
