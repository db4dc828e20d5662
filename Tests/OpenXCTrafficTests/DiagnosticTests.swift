// Diagnostic answers: joined, decoded and described in words.

import OpenXCProtocol
import Testing

@testable import OpenXCTraffic

@Suite("Parameters of OBD-II mode 1")
struct OBD2ParameterTests {
    /// Examples of SAE J1979, and the ends of each range.
    @Test(
        "bytes are decoded by the standard's formulas",
        arguments: [
            (0x04, [0xFF], 100), (0x05, [0x00], -40), (0x05, [0x7B], 83), (0x06, [0x80], 0),
            (0x0A, [0xFF], 765), (0x0C, [0x1A, 0xF8], 1726), (0x0D, [0xFF], 255),
            (0x0E, [0x80], 0), (0x0F, [0x64], 60), (0x10, [0x01, 0xF4], 5), (0x11, [0x00], 0),
            (0x1F, [0xFF, 0xFF], 65_535), (0x42, [0x36, 0xB0], 14), (0x5E, [0x00, 0x64], 5),
            (0x62, [0x7D], 0), (0xA6, [0x00, 0x01, 0x86, 0xA0], 10_000),
        ] as [(UInt32, [UInt8], Double)])
    func payloads(pid: UInt32, payload: [UInt8], expected: Double) throws {
        let parameter = try #require(OBD2Parameter.find(mode: 1, pid: pid))
        let decoded = try #require(parameter.decoded(value: nil, payload: payload))
        #expect(abs(decoded - expected) < 1e-9)
        #expect(parameter.decoded(value: nil, payload: payload + [0]) == nil)
    }

    @Test("a value is the unit's where firmware decodes, and the bytes as a number where not")
    func values() throws {
        let speed = try #require(OBD2Parameter.find(mode: 1, pid: 0x0C))
        #expect(speed.decoded(value: 772, payload: nil) == 772)
        let advance = try #require(OBD2Parameter.find(mode: 1, pid: 0x0E))
        #expect(advance.decoded(value: 0x80, payload: nil) == 0)
        #expect(advance.decoded(value: 0x100, payload: nil) == nil)
        #expect(advance.decoded(value: -1, payload: nil) == nil)
        #expect(OBD2Parameter.find(mode: 2, pid: 0x0C) == nil)
        #expect(OBD2Parameter.find(mode: 1, pid: 0) == nil)
    }
}

@Suite("Long diagnostic answers")
struct SegmentJoinerTests {
    private static func piece(
        _ frame: Int32?, _ payload: [UInt8], id: UInt32 = 2016, size: UInt32 = 0
    ) -> DiagnosticResponse {
        DiagnosticResponse(
            bus: 1, id: id, mode: 9, pid: 2, success: true, payload: payload, frame: frame,
            totalSize: size)
    }

    @Test("what is no piece is whole, and so is a last piece that is all there is") func whole() {
        var joiner = SegmentJoiner()
        #expect(joiner.add(Self.piece(nil, [1]))?.payload == [1])
        #expect(joiner.add(Self.piece(-1, [0x62, 0xDE, 0], size: 3))?.payload == [0x62, 0xDE, 0])
        #expect(joiner.count == 0 && joiner.broken == 0)
    }

    @Test("pieces are joined in order, also when the size is not said") func order() {
        var joiner = SegmentJoiner()
        #expect(joiner.add(Self.piece(0, [1, 2])) == nil)
        #expect(joiner.add(Self.piece(1, [3])) == nil)
        #expect(joiner.add(Self.piece(-1, [4]))?.payload == [1, 2, 3, 4])
    }

    @Test("an answer that lacks a piece is none") func gaps() {
        var joiner = SegmentJoiner()
        #expect(joiner.add(Self.piece(0, [1])) == nil)
        #expect(joiner.add(Self.piece(2, [3])) == nil)
        #expect(joiner.broken == 1)
        // The end has no beginning; the size shows that something is missing.
        #expect(joiner.add(Self.piece(-1, [4], size: 4)) == nil)
        #expect(joiner.broken == 2)
        // A new beginning starts a new answer.
        #expect(joiner.add(Self.piece(0, [1])) == nil)
        #expect(joiner.add(Self.piece(0, [5])) == nil)
        #expect(joiner.add(Self.piece(-1, [6]))?.payload == [5, 6])
        #expect(joiner.broken == 3)
    }

    @Test("neither answers under way nor bytes grow without end") func bounds() {
        var joiner = SegmentJoiner()
        for id in 0..<UInt32(1000) { _ = joiner.add(Self.piece(0, [1], id: id)) }
        #expect(joiner.count == SegmentJoiner.maximumAnswers)
        let long = [UInt8](repeating: 1, count: DiagnosticResponse.maximumPayload)
        var last: Int32 = 0
        for frame in 0..<Int32(40) where joiner.add(Self.piece(frame, long)) == nil { last = frame }
        #expect(last == 39)
        #expect(joiner.add(Self.piece(-1, []))?.payload?.count ?? 0 < SegmentJoiner.maximumBytes)
    }
}

@Suite("Vehicle messages in words")
struct VehicleTextTests {
    @Test(
        "each kind",
        arguments: [
            (#"{"name":"vehicle_speed","value":42.5}"#, "vehicle_speed 42.5 km/h"),
            (#"{"name":"fuel_level","value":13966.579102}"#, "fuel_level 13966.579102%"),
            (#"{"name":"fuel_level","value":"empty"}"#, "fuel_level empty"),
            (#"{"name":"door_status","value":"driver","event":true}"#, "door_status driver true"),
            (#"{"name":"a\u001b[31m","value":"\u202e"}"#, "a[31m "),
            (
                #"{"bus":2,"id":305419896,"data":"0x0aff","frame_format":"extended"}"#,
                "CAN bus 2 0x12345678 [2] 0a ff extended"
            ),
            (
                #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#,
                "diagnostic bus 1 0x7e0 mode 0x01 pid 0x0c (engine speed): 772 rpm"
            ),
            (
                #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"payload":"0x1af8"}"#,
                "diagnostic bus 1 0x7e0 mode 0x01 pid 0x0c (engine speed): 1726 rpm (payload 0x1af8)"
            ),
            (
                #"{"bus":1,"id":2016,"mode":1,"success":false,"pid":0,"negative_response_code":17}"#,
                "diagnostic bus 1 0x7e0 mode 0x01: refused, 0x11 service not supported"
            ),
            (
                #"{"bus":1,"id":2016,"mode":34,"success":true,"pid":56832,"payload":"0x62de00","#
                    + #""frame":-1,"total_size":3}"#,
                "diagnostic bus 1 0x7e0 mode 0x22 pid 0xde00, last piece: payload 0x62de00"
            ),
            (#"{"id":1,"mode":3,"success":false}"#, "diagnostic 0x01 mode 0x03: failed"),
            (
                #"{"command_response":"version","message":"8.2.1 (default)","status":true}"#,
                "version: 8.2.1 (default)"
            ),
            (#"{"command_response":"get_vin","status":false}"#, "get_vin: refused"),
            (#"{"command_response":"passthrough","status":true}"#, "passthrough: done"),
            (#"{"command":"passthrough","bus":1,"enabled":true}"#, "passthrough bus 1 on"),
            (
                #"{"command":"diagnostic_request","action":"add","request":{"bus":1,"id":2015,"#
                    + #""mode":1,"pid":13,"frequency":2.5}}"#,
                "add diagnostic bus 1 0x7df mode 0x01 pid 0x0d (vehicle speed), 2.5 times a second"
            ),
            (#"{"whatever":[1]}"#, #"unknown: {"whatever":[1]}"#),
        ])
    func words(json: String, expected: String) throws {
        let message = try VehicleMessage(json: Array(json.utf8).span)
        #expect(VehicleText.words(message) == expected)
    }

    @Test(
        "numbers as people write them",
        arguments: [
            (0.1 + 0.2, "0.3"), (-0.5, "-0.5"), (1e300, "1e+300"), (45, "45"),
            (1.0 / 3, "0.333333"),
        ])
    func numbers(number: Double, expected: String) {
        #expect(VehicleText.number(number) == expected)
    }

    @Test("every code of the standard has words") func codes() {
        #expect(NegativeResponse.words(of: 0x78) == "request received, response pending")
        #expect(NegativeResponse.words(of: 0x93) == "voltage too low")
        #expect(NegativeResponse.words(of: 0xF1) == "a code of the manufacturer")
        #expect(NegativeResponse.words(of: .max) == "a code of the manufacturer")
    }
}
