import SwiftProtobuf

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension VehicleMessage {
    /// Appends the message, preceded by its length. `extras` are left out: protobuf has no place for them.
    ///
    /// - Throws: `cannotBeSaid` for trace headers, and for what the definition has no number for; `tooLong`
    ///   for a message longer than readers accept.
    package func appendProtobuf(to bytes: inout [UInt8]) throws(MessageProblem) {
        var wire = WireVehicleMessage()
        switch content {
        case .can(let message):
            wire.type = .can
            wire.canMessage = WireCanMessage(message)
        case .measurement(let measurement):
            wire.type = .simple
            wire.simpleMessage.name = measurement.name
            wire.simpleMessage.value = WireDynamicField(measurement.value)
            if let event = measurement.event { wire.simpleMessage.event = WireDynamicField(event) }
        case .diagnostic(let response):
            wire.type = .diagnostic
            wire.diagnosticResponse = WireDiagnosticResponse(response)
        case .command(let command):
            wire.type = .controlCommand
            wire.controlCommand = try WireControlCommand(command)
        case .response(let response):
            guard let type = response.command.wireType else { throw .cannotBeSaid }
            wire.type = .commandResponse
            wire.commandResponse.type = type
            wire.commandResponse.message = response.message
            wire.commandResponse.status = response.status
        case .header, .unknown: throw .cannotBeSaid
        }
        if let timestamp { wire.timestamp = UInt64(exactly: timestamp.rounded()) ?? 0 }
        let body: [UInt8]
        do {
            body = try wire.serializedBytes()
        } catch {
            throw .cannotBeSaid
        }
        guard body.count <= VehicleMessageReader.maximumProtobufBytes else { throw .tooLong }
        Varint.append(UInt64(body.count), to: &bytes)
        bytes.append(contentsOf: body)
    }
}

extension WireCanMessage {
    fileprivate init(_ message: CANMessage) {
        bus = message.bus
        id = message.id
        data = Data(message.data)
        frameFormat =
            switch message.format {
            case .standard: .standard
            case .extended: .extended
            case nil: .unused
            }
    }
}

extension WireDynamicField {
    fileprivate init(_ value: VehicleValue) {
        switch value {
        case .number(let number):
            type = .num
            numericValue = number
        case .text(let text):
            type = .string
            stringValue = text
        case .flag(let flag):
            type = .bool
            booleanValue = flag
        }
    }
}

extension WireDiagnosticResponse {
    fileprivate init(_ response: DiagnosticResponse) {
        bus = response.bus
        messageID = response.id
        mode = response.mode
        pid = response.pid
        success = response.success
        negativeResponseCode = response.negativeResponseCode
        if let payload = response.payload { self.payload = Data(payload) }
        if let value = response.value { self.value = WireDynamicField(value) }
        frame = response.frame ?? 0
        totalSize = response.totalSize
    }
}

extension WireControlCommand {
    fileprivate init(_ command: Command) throws(MessageProblem) {
        guard let type = command.name.wireType else { throw .cannotBeSaid }
        self.type = type
        switch command {
        case .version, .deviceID, .platform, .vin, .sdMountStatus, .other: break
        case .passthrough(let bus, let enabled):
            passthroughModeRequest.bus = bus
            passthroughModeRequest.enabled = enabled
        case .acceptanceFilterBypass(let bus, let bypass):
            acceptanceFilterBypassCommand.bus = bus
            acceptanceFilterBypassCommand.bypass = bypass
        case .payloadFormat(let format):
            payloadFormatCommand.format = format == .json ? .json : .protobuf
        case .predefinedOBD2(let enabled): predefinedObd2RequestsCommand.enabled = enabled
        case .diagnosticRequest(let action, let request):
            diagnosticRequest.action = action == .add ? .add : .cancel
            diagnosticRequest.request = WireDiagnosticRequest(request)
        case .modemConfiguration(let modem):
            modemConfigurationCommand = WireModemConfigurationCommand(modem)
        case .rtcConfiguration(let unixTime): rtcConfigurationCommand.unixTime = unixTime
        }
    }
}

extension WireDiagnosticRequest {
    fileprivate init(_ request: DiagnosticRequest) {
        bus = request.bus
        messageID = request.id
        mode = request.mode
        pid = request.pid
        if let payload = request.payload { self.payload = Data(payload) }
        // Here, absent means false, whereas JSON leaves the choice to the identifier.
        multipleResponses = request.mayHaveSeveralAnswers
        frequency = request.frequency
        name = request.name ?? ""
        decodedType =
            switch request.decodedType {
            case .some(.none): .none
            case .some(.obd2): .obd2
            case nil: .unused
            }
    }
}

extension WireModemConfigurationCommand {
    fileprivate init(_ modem: ModemConfiguration) {
        if modem.host != nil || modem.port != nil {
            serverConnectSettings.host = modem.host ?? ""
            serverConnectSettings.port = modem.port ?? 0
        }
        if let apn = modem.apn { networkDataSettings.apn = apn }
        guard let settings = modem.networkOperator else { return }
        networkOperatorSettings.allowDataRoaming = settings.allowsDataRoaming
        networkOperatorSettings.operatorSelectMode =
            .init(rawValue: settings.selectMode) ?? .automatic
        guard settings.plmn != nil || settings.networkType != nil else { return }
        networkOperatorSettings.networkDescriptor.plmn = settings.plmn ?? 0
        networkOperatorSettings.networkDescriptor.networkType =
            .init(rawValue: settings.networkType ?? 0) ?? .gsm
    }
}

/// Base-128 numbers, least significant digits first; one precedes every message.
enum Varint {
    static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
