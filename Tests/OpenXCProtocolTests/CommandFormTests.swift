// Every command and response, and the forms in which clients send them.

import OpenXCProtocol
import Testing

@Suite("OpenXC commands")
struct CommandFormTests {
    private static let commands: [Command] = [
        .version, .deviceID, .platform, .vin, .sdMountStatus,
        .passthrough(bus: 1, enabled: true), .passthrough(bus: 2, enabled: false),
        .acceptanceFilterBypass(bus: 2, bypass: true), .payloadFormat(.json),
        .payloadFormat(.protobuf), .predefinedOBD2(enabled: true),
        .diagnosticRequest(
            .add,
            DiagnosticRequest(
                bus: 1, id: 0x7E0, mode: 0x22, pid: 0xDE00, payload: [1, 2, 0xFF],
                multipleResponses: true, frequency: 2.5, name: "speed", decodedType: .obd2)),
        .diagnosticRequest(
            .cancel,
            DiagnosticRequest(
                bus: 2, id: 0x7E1, mode: 9, multipleResponses: false,
                decodedType: DiagnosticRequest.DecodedType.none)),
        .modemConfiguration(ModemConfiguration(host: "vi.example", port: 8080)),
        .rtcConfiguration(unixTime: 1_700_000_000),
    ]

    @Test("mean the same in both forms", arguments: commands)
    func bothForms(command: Command) throws {
        let message = VehicleMessage(.command(command), timestamp: 1234)
        #expect(try VehicleMessage(json: Array(message.json.utf8).span) == message)
        #expect(try message.throughProtobuf() == message)
    }

    @Test("have responses that mean the same in both forms", arguments: CommandName.known)
    func responses(name: CommandName) throws {
        let message = VehicleMessage(.response(CommandResponse(name, message: "ok", status: true)))
        #expect(try VehicleMessage(json: Array(message.json.utf8).span) == message)
        #expect(try message.throughProtobuf() == message)
    }

    @Test(
        "are understood as every client says them",
        arguments: [
            (
                #"{"command":"diagnostic_request","action":"add","diagnostic_request":"#
                    + #"{"message_id":2016,"bus":1,"mode":1,"pid":null}}"#,
                Command.diagnosticRequest(.add, DiagnosticRequest(bus: 1, id: 2016, mode: 1))
            ),
            (
                #"{"command":"modem_configuration","server":{"host":"h","port":80}}"#,
                .modemConfiguration(ModemConfiguration(host: "h", port: 80))
            ),
            (
                #"{"command":"modem_configuration","host":"h","port":"80"}"#,
                .modemConfiguration(ModemConfiguration(host: "h", port: 80))
            ),
            (
                #"{"command":"rtc_configuration","unix_time":"1700000000"}"#,
                .rtcConfiguration(unixTime: 1_700_000_000)
            ),
        ])
    func dialects(json: String, command: Command) throws {
        #expect(try VehicleMessage(json: Array(json.utf8).span).content == .command(command))
    }

    @Test("of unknown names keep what they carry, and have no protobuf")
    func unknownNames() throws {
        let json = #"{"command":"version2","speed":[1,2,{"a":null}]}"#
        let message = try VehicleMessage(json: Array(json.utf8).span)
        #expect(message.json == json)
        #expect(throws: MessageProblem.cannotBeSaid) { try message.throughProtobuf() }
        let answer = VehicleMessage(.response(CommandResponse(.other("version2"), status: false)))
        #expect(throws: MessageProblem.cannotBeSaid) { try answer.throughProtobuf() }
    }

    @Test("a modem's settings that JSON has no words for stay in protobuf")
    func modem() throws {
        let settings = ModemConfiguration.NetworkOperator(
            allowsDataRoaming: true, selectMode: 3, plmn: 26201, networkType: 2)
        let message = VehicleMessage(
            .command(
                .modemConfiguration(
                    ModemConfiguration(apn: "internet", networkOperator: settings))))
        #expect(try message.throughProtobuf() == message)
    }
}

extension VehicleMessage {
    /// The message after being encoded in protobuf and decoded.
    func throughProtobuf() throws -> VehicleMessage? {
        var bytes: [UInt8] = []
        try appendProtobuf(to: &bytes)
        var reader = VehicleMessageReader(recovery: .nextBeginning)
        reader.append(bytes)
        return reader.next()
    }
}
