import ControlAPI
import DecodedTraces
import NIOCore
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore

extension VehicleReport {
    /// - Parameter tap: How many bytes the queue of the observers may hold, and how many messages they
    ///   missed.
    init(
        _ snapshot: VehicleSnapshot, _ facts: VehicleFacts, at now: NIODeadline,
        tap: (maximumBytes: Int, missed: UInt64)
    ) {
        self.init(
            interface: VehicleInterface(snapshot, facts, at: now),
            measurements: facts.allSignals.map { VehicleMeasurement($0, at: now) },
            can: facts.allCAN.map { VehicleCANMessage($0, at: now) },
            diagnostics: facts.allDiagnostics.map { VehicleDiagnostic($0, at: now) },
            requests: snapshot.recurring.map { VehicleRequest($0.request, $0.owners) },
            switches: snapshot.switches.map { VehicleSwitch($0.key, $0.owners) },
            clients: snapshot.clients.map { VehicleClient($0) },
            limits: [
                VehicleLimit(
                    name: .signals, limit: VehicleFacts.maximumSignals,
                    leftOut: Int(clamping: facts.signalsLeftOut)),
                VehicleLimit(
                    name: .can, limit: VehicleFacts.maximumCAN,
                    leftOut: Int(clamping: facts.canLeftOut)),
                VehicleLimit(
                    name: .diagnostics, limit: VehicleFacts.maximumDiagnostics,
                    leftOut: Int(clamping: facts.diagnosticsLeftOut)),
                VehicleLimit(
                    name: .answer, limit: SegmentJoiner.maximumBytes,
                    leftOut: Int(clamping: facts.brokenAnswers)),
                VehicleLimit(
                    name: .tapQueue, limit: tap.maximumBytes, leftOut: Int(clamping: tap.missed)),
            ])
    }
}

extension VehicleInterface {
    fileprivate init(_ snapshot: VehicleSnapshot, _ facts: VehicleFacts, at now: NIODeadline) {
        let identity = snapshot.identity
        self.init(
            connected: snapshot.isConnected, address: snapshot.address,
            version: identity.version, platform: identity.platform, deviceID: identity.deviceID,
            vin: identity.vin, format: snapshot.format?.rawValue,
            messages: Int(clamping: facts.all.count), messagesPerSecond: facts.all.rate(at: now),
            lastMessageAt: facts.all.count > 0 ? Timestamp(facts.all.at) : nil,
            garbageBytes: Int(clamping: snapshot.counts.garbageBytes),
            unreadable: Self.words(snapshot.counts.problems))
    }

    fileprivate static func words(_ problems: [MessageProblem: UInt64]) -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: problems.map { ($0.key.rawValue, Int(clamping: $0.value)) })
    }
}

extension VehicleScalar {
    init(_ value: VehicleValue) {
        switch value {
        case .number(let number): self = .number(number)
        case .text(let text): self = .text(text)
        case .flag(let flag): self = .flag(flag)
        }
    }
}

/// The number of a bus; nil for 0, which means none.
func busNumber(_ bus: Int32) -> Int? { bus == 0 ? nil : Int(bus) }

extension VehicleMeasurement {
    fileprivate init(_ signal: VehicleFacts.Signal, at now: NIODeadline) {
        let measurement = signal.measurement
        self.init(
            name: measurement.name, value: VehicleScalar(measurement.value),
            event: measurement.event.map { VehicleScalar($0) },
            unit: SignalUnits.unit(of: measurement.name), at: Timestamp(signal.arrival.at),
            vehicleTime: signal.arrival.vehicleTime, count: Int(clamping: signal.arrival.count),
            perSecond: signal.arrival.rate(at: now), history: signal.history.values)
    }
}

extension VehicleCANMessage {
    fileprivate init(_ known: VehicleFacts.CAN, at now: NIODeadline) {
        self.init(
            bus: busNumber(known.message.bus), id: Int(known.message.id),
            data: VehicleText.hex(known.message.data), frameFormat: known.message.format?.rawValue,
            at: Timestamp(known.arrival.at), vehicleTime: known.arrival.vehicleTime,
            count: Int(clamping: known.arrival.count), perSecond: known.arrival.rate(at: now))
    }
}

extension VehicleDiagnostic {
    fileprivate init(_ known: VehicleFacts.Diagnostic, at now: NIODeadline) {
        self.init(
            known.response, at: known.arrival.at, vehicleTime: known.arrival.vehicleTime,
            count: Int(clamping: known.arrival.count), perSecond: known.arrival.rate(at: now))
    }

    init(
        _ response: DiagnosticResponse, at time: WallTime, vehicleTime: Double?, count: Int = 1,
        perSecond: Double = 0
    ) {
        var whole = response
        // A long response has been assembled, so the index of a piece no longer applies.
        whole.frame = nil
        let parameter = OBD2Parameter.find(mode: response.mode, pid: response.pid)
        let decoded = DecodedAnswer.of(whole)
        let code = response.negativeResponseCode
        self.init(
            bus: busNumber(response.bus), id: Int(response.id), mode: Int(response.mode),
            pid: Int(response.pid), success: response.success,
            negativeResponseCode: code == 0 ? nil : Int(code),
            reason: code == 0 ? nil : NegativeResponse.words(of: code),
            value: response.value.map { VehicleScalar($0) },
            payload: response.payload.map { VehicleText.hex($0) }, parameter: parameter?.name,
            decoded: decoded?.number,
            unit: decoded.flatMap { $0.unit.isEmpty ? nil : $0.unit }, at: Timestamp(time),
            vehicleTime: vehicleTime, count: count, perSecond: perSecond)
    }
}

extension VehicleRequest {
    fileprivate init(_ request: DiagnosticRequest, _ owners: [AppID]) {
        self.init(
            bus: busNumber(request.bus), id: Int(request.id), mode: Int(request.mode),
            pid: Int(request.pid), frequency: request.frequency,
            parameter: OBD2Parameter.find(mode: request.mode, pid: request.pid)?.name,
            clients: owners.filter { !$0.isVehicleGuest }.map { Int(clamping: $0.rawValue) },
            api: owners.count(where: \.isVehicleGuest))
    }
}

extension VehicleSwitch {
    fileprivate init(_ key: SwitchKey, _ owners: [AppID]) {
        let (name, bus): (CommandName, Int32) =
            switch key {
            case .passthrough(let bus): (.passthrough, bus)
            case .acceptanceFilterBypass(let bus): (.acceptanceFilterBypass, bus)
            }
        self.init(
            name: name.word, bus: busNumber(bus),
            clients: owners.filter { !$0.isVehicleGuest }.map { Int(clamping: $0.rawValue) },
            api: owners.count(where: \.isVehicleGuest))
    }
}

extension VehicleClient {
    fileprivate init(_ client: VehicleSnapshot.Client) {
        self.init(
            id: Int(clamping: client.id.rawValue), peer: client.peer,
            connectedAt: Timestamp(client.connectedAt), format: client.framing.rawValue,
            subscription: VehicleSubscription(
                names: client.subscription.names, buses: client.subscription.buses,
                ids: client.subscription.ids.map(\.description),
                onChange: client.subscription.onChange, rate: client.subscription.maximumRate),
            writes: client.permissions.rules.map(\.description),
            messagesIn: Int(clamping: client.counters.framesIn),
            bytesIn: Int(clamping: client.counters.bytesIn),
            messagesOut: Int(clamping: client.counters.framesOut),
            bytesOut: Int(clamping: client.counters.bytesOut), queueBytes: client.queuedBytes,
            queueLimit: client.maximumQueueBytes, lost: Int(clamping: client.lost),
            refused: Int(clamping: client.refused),
            unreadable: VehicleInterface.words(client.counts.problems), problem: client.problem)
    }
}
