package import NIOCore
package import OpenXCProtocol

/// A vehicle interface with its vehicle, implemented in code: measurements of a drive, and answers to commands and
/// diagnostic requests as firmware 8.2.1 gives them. A value on manual time: its owner passes bytes and the time
/// in, and sends what comes back.
package struct SimulatedVehicle: Sendable {
    /// Whole messages in the order in which they are sent, each by itself, since a full interface drops whole ones.
    package typealias Output = [[UInt8]]

    private let configuration: Configuration
    private var input = CommandInput()
    private(set) package var format: PayloadFormat
    /// Exposed for tests: the measurements follow from it.
    private(set) package var drive = Drive()
    private var signals = Signals()
    private var diagnostics = DiagnosticQueue()
    private let modules: VehicleModules
    private var passthrough: Set<Int32> = []
    private var bypassed: Set<Int32> = []
    private var asksPredefined = false
    /// When the vehicle reports its VIN, or reported it; nil before it was asked.
    private var vinTold: NIODeadline?
    /// Messages to be sent later.
    private var pending: [(due: NIODeadline, message: VehicleMessage)] = []
    /// Writes to the vehicle, the latest last. They are not reported.
    private(set) package var writes: [VehicleMessage] = []

    /// When the slot counted by `slot` is due; nil before power is on.
    private var nextSlot: NIODeadline?
    private var slot = 0

    /// A vehicle interface that was delayed makes up for a second at most.
    static let mostSlotsAtOnce = Signals.slots
    static let maximumWrites = 25
    static let maximumPending = 256
    /// Delays until a module answers, until the next one does, and between the pieces of an answer.
    static let answerDelay = TimeAmount.milliseconds(15)
    static let moduleDelay = TimeAmount.milliseconds(5)
    static let segmentDelay = TimeAmount.milliseconds(5)
    /// Firmware's buses on which diagnostic requests may be sent.
    static let writableBuses: Set<Int32> = [1]

    package init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        format = configuration.format
        modules = VehicleModules(vin: configuration.vin)
    }

    // MARK: - Time

    package mutating func powered(at now: NIODeadline) {
        nextSlot = now
    }

    package var nextDeadline: NIODeadline? {
        [nextSlot, diagnostics.nextDeadline, pending.map(\.due).min()].compactMap { $0 }.min()
    }

    package mutating func advance(to now: NIODeadline) -> Output {
        var output: Output = []
        for request in diagnostics.due(at: now) { answer(request, at: now) }
        sayPending(at: now, &output)
        guard var due = nextSlot else { return output }
        var count = 0
        while due <= now {
            guard count < Self.mostSlotsAtOnce else {
                due = now
                break
            }
            say(in: slot, &output)
            count += 1
            slot = (slot + 1) % (Signals.slots * 60)
            due = due + slotTime
        }
        nextSlot = due
        return output
    }

    private var slotTime: TimeAmount {
        .nanoseconds(Int64(1e9 / Double(Signals.slots) / configuration.speed))
    }

    private mutating func say(in slot: Int, _ output: inout Output) {
        let isStep = slot % (Signals.slots / 10) == 0
        if isStep { drive.advance() }
        for measurement in signals.due(in: slot, of: drive, isStep: isStep) {
            write(.measurement(measurement), &output)
        }
        let frames = CANFrames.due(in: slot, on: passthrough, bypassed: bypassed, of: drive)
        for frame in frames { write(.can(frame), &output) }
        guard asksPredefined, drive.cabin.ignition == .run else { return }
        for (index, value) in ParameterTable.predefined.enumerated()
        where slot % (Signals.slots / value.hertz) == index % (Signals.slots / value.hertz) {
            guard let parameter = ParameterTable.all[value.pid] else { continue }
            let number = parameter.value?(parameter.bytes(drive)) ?? 0
            write(.measurement(Measurement(value.name, .number(number))), &output)
        }
    }

    private mutating func sayPending(at now: NIODeadline, _ output: inout Output) {
        guard pending.contains(where: { $0.due <= now }) else { return }
        let due = pending.filter { $0.due <= now }.sorted { $0.due < $1.due }
        pending.removeAll { $0.due <= now }
        for item in due { write(item.message.content, &output) }
    }

    private mutating func later(_ content: VehicleMessage.Content, at time: NIODeadline) {
        guard pending.count < Self.maximumPending else { return }
        pending.append((time, VehicleMessage(content)))
    }

    // MARK: - Messages out

    /// Writes a message in the payload format in force. One that is too long is cut, and loses its end.
    private func write(_ content: VehicleMessage.Content, _ output: inout Output) {
        var bytes: [UInt8] = []
        let framing = format == .protobuf ? MessageFraming.protobuf : .json
        guard (try? framing.append(VehicleMessage(content), to: &bytes)) != nil else { return }
        if let limit = configuration.habits.truncation, bytes.count > limit {
            bytes.removeSubrange(limit...)
        }
        output.append(bytes)
    }

    private func respond(
        _ command: CommandName, _ status: Bool, _ message: String, _ output: inout Output
    ) {
        write(.response(CommandResponse(command, message: message, status: status)), &output)
    }

    // MARK: - Commands in

    /// - Parameter bytes: the bytes of one read.
    package mutating func receive(
        _ bytes: some Sequence<UInt8>, at now: NIODeadline
    ) -> Output {
        var output: Output = []
        var input = input
        input.receive(bytes, in: format) { taken in
            if case .message(let message, let text) = taken { take(message, text, now, &output) }
            return format
        }
        self.input = input
        return output
    }

    private mutating func take(
        _ message: VehicleMessage, _ text: [UInt8]?, _ now: NIODeadline, _ output: inout Output
    ) {
        switch message.content {
        case .command(let command):
            if case .diagnosticRequest = command, let text, !CommandNames.isReadable(text) {
                return
            }
            carryOut(command, now, &output)
        case .measurement, .can:
            if writes.count == Self.maximumWrites { writes.removeFirst() }
            writes.append(message)
        case .diagnostic, .response, .header, .unknown: break
        }
    }

    private mutating func carryOut(
        _ command: Command, _ now: NIODeadline, _ output: inout Output
    ) {
        switch command {
        case .version: respond(.version, true, configuration.version, &output)
        case .platform: respond(.platform, true, configuration.platform, &output)
        case .deviceID:
            guard !configuration.deviceID.isEmpty else { return }
            respond(.deviceID, true, configuration.deviceID, &output)
        case .vin: tellVIN(now, &output)
        case .sdMountStatus:
            respond(.sdMountStatus, false, "", &output)
            // Firmware 8.2 goes on as if the VIN had been requested.
            tellVIN(now, &output)
        case .passthrough(let bus, let isOn):
            respond(.passthrough, set(&passthrough, bus, isOn), "", &output)
        case .acceptanceFilterBypass(let bus, let isOn):
            respond(.acceptanceFilterBypass, set(&bypassed, bus, isOn), "", &output)
        case .payloadFormat(let wanted):
            // The response still has the old format.
            respond(.payloadFormat, true, "", &output)
            format = wanted
        case .predefinedOBD2(let isOn):
            asksPredefined = isOn
            respond(.predefinedOBD2, true, "", &output)
        case .diagnosticRequest(let action, let request):
            respond(.diagnosticRequest, carryOut(action, request, now), "", &output)
        // This hardware has no modem, and no clock that could be set.
        case .modemConfiguration: break
        case .rtcConfiguration: respond(.rtcConfiguration, false, "", &output)
        case .other(let name, let object):
            if configuration.habits.comparesPrefixes,
                let meant = CommandNames.byPrefix(name, object)
            {
                carryOut(meant, now, &output)
            } else if !configuration.habits.ignoresUnknown {
                respond(.other(name), false, "unknown command", &output)
            }
        }
    }

    /// 0 stands for the first bus.
    private func set(_ buses: inout Set<Int32>, _ bus: Int32, _ isOn: Bool) -> Bool {
        let bus = bus == 0 ? 1 : bus
        guard CANFrames.buses.contains(bus) else { return false }
        if isOn { buses.insert(bus) } else { buses.remove(bus) }
        return true
    }

    /// Asks the vehicle unless its VIN is already known.
    private mutating func tellVIN(_ now: NIODeadline, _ output: inout Output) {
        guard let vin = configuration.vin else {
            return later(
                .response(
                    CommandResponse(.vin, message: "VIN request timed out", status: false)),
                at: now + TimeAmount(configuration.habits.vinDelay))
        }
        let told = vinTold ?? now + TimeAmount(configuration.habits.vinDelay)
        vinTold = told
        guard told > now else { return respond(.vin, true, vin, &output) }
        later(.response(CommandResponse(.vin, message: vin, status: true)), at: told)
    }

    // MARK: - Diagnostics

    private mutating func carryOut(
        _ action: Command.DiagnosticAction, _ request: DiagnosticRequest, _ now: NIODeadline
    ) -> Bool {
        switch action {
        case .add:
            Self.writableBuses.contains(max(1, request.bus))
                && diagnostics.add(request, at: now)
        case .cancel: diagnostics.cancel(request)
        }
    }

    /// Sends a request to the vehicle.
    private mutating func answer(_ request: DiagnosticRequest, at now: NIODeadline) {
        var due = now + Self.answerDelay
        var ended: NIODeadline?
        for module in VehicleModules.addressed(by: request.id) {
            guard let answer = modules.answer(request, of: module, in: drive) else { continue }
            var time = due
            for content in DiagnosticAnswer(request, module, answer).contents(
                inSegments: configuration.habits.sendsSegments)
            {
                later(content, at: time)
                ended = time
                time = time + Self.segmentDelay
            }
            due = due + Self.moduleDelay
            if !request.mayHaveSeveralAnswers { break }
        }
        if let ended, !request.mayHaveSeveralAnswers { diagnostics.end(request, at: ended) }
    }
}
