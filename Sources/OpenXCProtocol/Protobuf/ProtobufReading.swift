import SwiftProtobuf

extension VehicleMessage {
    /// Reads one message without the length before it.
    package init(protobuf bytes: [UInt8]) throws(MessageProblem) {
        let wire: WireVehicleMessage
        do {
            var options = BinaryDecodingOptions()
            // The messages have three levels only.
            options.messageDepthLimit = 8
            wire = try WireVehicleMessage(serializedBytes: bytes, options: options)
        } catch {
            throw .notProtobuf
        }
        guard wire.timestamp <= UInt64(Self.latestTimestamp) else { throw .outOfRange }
        self.init(
            try Self.content(wire),
            timestamp: wire.timestamp == 0 ? nil : Double(wire.timestamp))
    }

    /// The type says which part to read.
    private static func content(_ wire: WireVehicleMessage) throws(MessageProblem) -> Content {
        switch (wire.type, wire.part) {
        case (.can, .canMessage(let message)): .can(try CANMessage(message))
        case (.simple, .simpleMessage(let message)): .measurement(try Measurement(message))
        case (.diagnostic, .diagnosticResponse(let response)):
            .diagnostic(try DiagnosticResponse(response))
        case (.controlCommand, .controlCommand(let command)): .command(try Command(command))
        case (.commandResponse, .commandResponse(let response)):
            .response(try CommandResponse(response))
        case (.unused, _), (.UNRECOGNIZED, _): throw .wrongKind
        default: throw .missing
        }
    }
}

extension CANMessage {
    fileprivate init(_ wire: WireCanMessage) throws(MessageProblem) {
        guard wire.data.count <= Self.maximumBytes else { throw .tooMuchData }
        self.init(bus: wire.bus, id: wire.id, data: Array(wire.data))
        switch wire.frameFormat {
        case .unused: format = nil
        case .standard: format = .standard
        case .extended: format = .extended
        case .UNRECOGNIZED: throw .wrongKind
        }
    }
}

extension Measurement {
    fileprivate init(_ wire: WireSimpleMessage) throws(MessageProblem) {
        guard !wire.name.isEmpty, wire.hasValue, let value = try VehicleValue.read(wire.value)
        else { throw .missing }
        self.init(wire.name, value, event: wire.hasEvent ? try .read(wire.event) : nil)
    }
}

extension VehicleValue {
    /// Nil when the field says that it is unused.
    fileprivate static func read(_ wire: WireDynamicField) throws(MessageProblem) -> VehicleValue? {
        switch wire.type {
        case .unused: return nil
        case .string: return .text(wire.stringValue)
        case .num:
            guard wire.numericValue.isFinite else { throw .outOfRange }
            return .number(wire.numericValue)
        case .bool: return .flag(wire.booleanValue)
        case .UNRECOGNIZED: throw .wrongKind
        }
    }
}

extension DiagnosticResponse {
    fileprivate init(_ wire: WireDiagnosticResponse) throws(MessageProblem) {
        guard wire.payload.count <= Self.maximumPayload else { throw .tooMuchData }
        self.init(
            bus: wire.bus, id: wire.messageID, mode: wire.mode, pid: wire.pid,
            success: wire.success, negativeResponseCode: wire.negativeResponseCode,
            payload: wire.payload.isEmpty ? nil : Array(wire.payload),
            value: wire.hasValue ? try .read(wire.value) : try Self.oldValue(wire),
            // A first piece has frame 0, which is not transmitted; its size shows that it is one.
            frame: wire.frame != 0 || wire.totalSize > 0 ? wire.frame : nil,
            totalSize: wire.totalSize)
    }

    /// Up to firmware 7.3, field 8 was a double: a field of another wire type, kept as unknown.
    private static func oldValue(
        _ wire: WireDiagnosticResponse
    ) throws(MessageProblem) -> VehicleValue? {
        let bytes = Array(wire.unknownFields.data)
        guard bytes.count == 9, bytes[0] == 8 << 3 | 1 else { return nil }
        let number = Double(
            bitPattern: bytes[1...].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        guard number.isFinite else { throw .outOfRange }
        return .number(number)
    }
}

extension Command {
    fileprivate init(_ wire: WireControlCommand) throws(MessageProblem) {
        switch wire.type {
        case .version: self = .version
        case .deviceID: self = .deviceID
        case .platform: self = .platform
        case .getVin: self = .vin
        case .sdMountStatus: self = .sdMountStatus
        case .diagnostic: self = try Self.read(wire.diagnosticRequest)
        case .passthrough:
            let passthrough = wire.passthroughModeRequest
            self = .passthrough(bus: passthrough.bus, enabled: passthrough.enabled)
        case .acceptanceFilterBypass:
            let filter = wire.acceptanceFilterBypassCommand
            self = .acceptanceFilterBypass(bus: filter.bus, bypass: filter.bypass)
        case .payloadFormat:
            switch wire.payloadFormatCommand.format {
            case .json: self = .payloadFormat(.json)
            case .protobuf: self = .payloadFormat(.protobuf)
            case .unused: throw .missing
            case .UNRECOGNIZED: throw .wrongKind
            }
        case .predefinedObd2Requests:
            self = .predefinedOBD2(enabled: wire.predefinedObd2RequestsCommand.enabled)
        case .modemConfiguration:
            self = .modemConfiguration(ModemConfiguration(wire.modemConfigurationCommand))
        case .rtcConfiguration:
            self = .rtcConfiguration(unixTime: wire.rtcConfigurationCommand.unixTime)
        case .unused, .UNRECOGNIZED: throw .wrongKind
        }
    }

    private static func read(_ wire: WireDiagnosticControlCommand) throws(MessageProblem) -> Command
    {
        let request = try DiagnosticRequest(wire.request)
        switch wire.action {
        case .add: return .diagnosticRequest(.add, request)
        case .cancel: return .diagnosticRequest(.cancel, request)
        case .unused: throw .missing
        case .UNRECOGNIZED: throw .wrongKind
        }
    }
}

extension DiagnosticRequest {
    fileprivate init(_ wire: WireDiagnosticRequest) throws(MessageProblem) {
        guard wire.messageID > 0, (1...255).contains(wire.mode) else { throw .outOfRange }
        guard wire.payload.count <= Self.maximumPayload else { throw .tooMuchData }
        guard wire.frequency.isFinite, wire.frequency >= 0 else { throw .outOfRange }
        self.init(
            bus: wire.bus, id: wire.messageID, mode: wire.mode, pid: wire.pid,
            payload: wire.payload.isEmpty ? nil : Array(wire.payload),
            multipleResponses: wire.multipleResponses, frequency: wire.frequency,
            name: wire.name.isEmpty ? nil : wire.name)
        switch wire.decodedType {
        case .unused: decodedType = nil
        case .none: decodedType = DecodedType.none
        case .obd2: decodedType = .obd2
        case .UNRECOGNIZED: throw .wrongKind
        }
    }
}

extension ModemConfiguration {
    fileprivate init(_ wire: WireModemConfigurationCommand) {
        self.init()
        if wire.hasServerConnectSettings {
            let server = wire.serverConnectSettings
            if !server.host.isEmpty { host = server.host }
            if server.port > 0 { port = server.port }
        }
        if wire.hasNetworkDataSettings { apn = wire.networkDataSettings.apn }
        guard wire.hasNetworkOperatorSettings else { return }
        let settings = wire.networkOperatorSettings
        let descriptor = settings.hasNetworkDescriptor ? settings.networkDescriptor : nil
        networkOperator = NetworkOperator(
            allowsDataRoaming: settings.allowDataRoaming,
            selectMode: settings.operatorSelectMode.rawValue,
            plmn: descriptor?.plmn, networkType: descriptor?.networkType.rawValue)
    }
}

extension CommandResponse {
    fileprivate init(_ wire: WireCommandResponse) throws(MessageProblem) {
        guard let command = CommandName(wire.type) else { throw .wrongKind }
        self.init(command, message: wire.message, status: wire.status)
    }
}

extension CommandName {
    fileprivate init?(_ wire: WireControlCommand.TypeEnum) {
        guard let name = Self.known.first(where: { $0.wireType == wire }) else { return nil }
        self = name
    }

    /// Nil for names without a number in protobuf.
    var wireType: WireControlCommand.TypeEnum? {
        switch self {
        case .version: .version
        case .deviceID: .deviceID
        case .platform: .platform
        case .vin: .getVin
        case .sdMountStatus: .sdMountStatus
        case .passthrough: .passthrough
        case .acceptanceFilterBypass: .acceptanceFilterBypass
        case .payloadFormat: .payloadFormat
        case .predefinedOBD2: .predefinedObd2Requests
        case .diagnosticRequest: .diagnostic
        case .modemConfiguration: .modemConfiguration
        case .rtcConfiguration: .rtcConfiguration
        case .other: nil
        }
    }
}
