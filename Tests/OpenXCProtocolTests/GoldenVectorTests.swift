// Messages whose protobuf is known byte by byte, as openxc-python's generated classes write it, and their JSON
// as firmware 8.2 writes it.

import OpenXCProtocol
import Testing

@Suite("OpenXC messages in both forms")
struct GoldenVectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var message: VehicleMessage
        var json: String
        var protobuf: String
        var testDescription: String { json }

        init(_ content: VehicleMessage.Content, _ json: String, _ protobuf: String) {
            message = VehicleMessage(content)
            self.json = json
            self.protobuf = protobuf
        }
    }

    static let all: [Vector] = [
        Vector(.command(.version), #"{"command":"version"}"#, "06 0804 2a02 0801"),
        Vector(.command(.deviceID), #"{"command":"device_id"}"#, "06 0804 2a02 0802"),
        Vector(
            .command(.payloadFormat(.json)), #"{"command":"payload_format","format":"json"}"#,
            "0a 0804 2a06 0806 2a02 0801"),
        Vector(
            .command(
                .diagnosticRequest(
                    .add,
                    DiagnosticRequest(
                        bus: 1, id: 0x7E0, mode: 1, pid: 12, multipleResponses: false))),
            #"{"command":"diagnostic_request","action":"add","request":{"bus":1,"id":2016,"#
                + #""mode":1,"pid":12,"multiple_responses":false}}"#,
            "15 0804 2a11 0803 120d 0a09 0801 10e00f 1801 200c 1001"),
        Vector(
            .measurement(Measurement("steering_wheel_angle", .number(45))),
            #"{"name":"steering_wheel_angle","value":45}"#,
            """
            27 0802 1a23 0a14 7374656572696e675f776865656c5f616e676c65
            120b 0802 190000000000804640
            """),
        Vector(
            .measurement(Measurement("button_event", .text("up"), event: .text("pressed"))),
            #"{"name":"button_event","value":"up","event":"pressed"}"#,
            """
            27 0802 1a23 0a0c 627574746f6e5f6576656e74
            1206 0801 12027570 1a0b 0801 120770726573736564
            """),
        Vector(
            .measurement(Measurement("headlamp_status", .flag(false))),
            #"{"name":"headlamp_status","value":false}"#,
            "19 0802 1a15 0a0f 686561646c616d705f737461747573 1202 0803"),
        Vector(
            .can(CANMessage(bus: 1, id: 1234, data: [0x12, 0x34, 0x56, 0x78])),
            #"{"bus":1,"id":1234,"data":"0x12345678"}"#, "0f 0801 120b 0801 10d209 1a04 12345678"),
        Vector(
            .diagnostic(
                DiagnosticResponse(
                    bus: 1, id: 2016, mode: 1, pid: 12, success: true, value: .number(772))),
            #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#,
            "1c 0803 2218 0801 10e00f 1801 200c 2801 420b 0802 190000000000208840"),
        Vector(
            .diagnostic(
                DiagnosticResponse(
                    bus: 1, id: 2016, mode: 34, pid: 56832, success: true,
                    payload: [0x62, 0xDE, 0x00], frame: -1, totalSize: 3)),
            #"{"bus":1,"id":2016,"mode":34,"success":true,"pid":56832,"payload":"0x62de00","#
                + #""frame":-1,"total_size":3}"#,
            "23 0803 221f 0801 10e00f 1822 2080bc03 2801 3a0362de00 48ffffffffffffffffff01 5003"),
        Vector(
            .diagnostic(
                DiagnosticResponse(
                    bus: 1, id: 2016, mode: 1, success: false, negativeResponseCode: 17)),
            #"{"bus":1,"id":2016,"mode":1,"success":false,"pid":0,"negative_response_code":17}"#,
            "0d 0803 2209 0801 10e00f 1801 3011"),
        Vector(
            .response(CommandResponse(.version, message: "8.2.1 (default)", status: true)),
            #"{"command_response":"version","message":"8.2.1 (default)","status":true}"#,
            "19 0805 3215 0801 120f 382e322e31202864656661756c7429 1801"),
    ]

    @Test("are written as known", arguments: all)
    func writing(vector: Vector) throws {
        #expect(vector.message.json == vector.json)
        var bytes: [UInt8] = []
        try vector.message.appendProtobuf(to: &bytes)
        #expect(bytes == hex(vector.protobuf))
    }

    @Test("are read as known", arguments: all)
    func reading(vector: Vector) throws {
        #expect(try VehicleMessage(json: Array(vector.json.utf8).span) == vector.message)
        var reader = VehicleMessageReader(recovery: .nextBeginning)
        reader.append(hex(vector.protobuf))
        #expect(reader.next() == vector.message)
        #expect(reader.next() == nil && reader.pendingBytes == 0)
    }

    @Test("a request to all modules may have several answers unless it says that it may not")
    func everybody() throws {
        let request = DiagnosticRequest(bus: 1, id: 0x7DF, mode: 1, pid: 12)
        var bytes: [UInt8] = []
        try VehicleMessage(.command(.diagnosticRequest(.add, request))).appendProtobuf(to: &bytes)
        #expect(bytes == hex("17 0804 2a13 0803 120f 0a0b 0801 10df0f 1801 200c 3001 1001"))
        var silent = request
        silent.multipleResponses = false
        var others: [UInt8] = []
        try VehicleMessage(.command(.diagnosticRequest(.add, silent))).appendProtobuf(to: &others)
        #expect(others == hex("15 0804 2a11 0803 120d 0a09 0801 10df0f 1801 200c 1001"))
    }
}

/// Bytes from hexadecimal digits; blanks may separate them anywhere.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map {
        UInt8(digits[$0] << 4 | digits[$0 + 1])
    }
}
