// The results for bytes that are not a message: each kind has its own error.

import OpenXCProtocol
import Testing

@Suite("Malformed OpenXC messages")
struct MalformedMessageTests {
    @Test(
        "have a problem with a name",
        arguments: [
            ("[1,2]", MessageProblem.notJSON),
            ("not json", .notJSON),
            (#"{"name":"engine_speed","value":"#, .notJSON),
            (#"{"name":"a","value":1}x"#, .notJSON),
            (#"{"name":"a","value":01}"#, .notJSON),
            (#"{"name":"a","value":NaN}"#, .notJSON),
            (#"{"name":"a\#nb","value":1}"#, .notJSON),
            (#"{"extras":\#(String(repeating: "[", count: 20))"#, .tooDeep),
            (#"{"name":"a","value":1e999}"#, .outOfRange),
            (#"{"name":1,"value":1}"#, .wrongKind),
            (#"{"name":"","value":1}"#, .missing),
            (#"{"timestamp":"1385133351.6","name":"a","value":1}"#, .wrongKind),
            (#"{"timestamp":1e300,"name":"a","value":1}"#, .outOfRange),
            (#"{"bus":1,"id":-1,"data":"00"}"#, .outOfRange),
            (#"{"bus":1,"id":4294967296,"data":"00"}"#, .outOfRange),
            (#"{"bus":1,"id":1.5,"data":"00"}"#, .outOfRange),
            (#"{"bus":1e99,"id":1,"data":"00"}"#, .outOfRange),
            (#"{"bus":1,"id":1,"data":"0x123"}"#, .notHex),
            (#"{"bus":1,"id":1,"data":"0xzz"}"#, .notHex),
            (#"{"bus":1,"id":1,"data":"001122334455667788"}"#, .tooMuchData),
            (#"{"bus":1,"id":1,"data":[0]}"#, .wrongKind),
            (#"{"bus":1,"id":1,"data":"00","frame_format":"long"}"#, .wrongKind),
            (#"{"id":1,"mode":1,"success":1}"#, .wrongKind),
            (#"{"command":"passthrough","bus":1}"#, .missing),
            (#"{"command":"payload_format","format":"messagepack"}"#, .wrongKind),
            (#"{"command":"diagnostic_request","request":{"id":1,"mode":1}}"#, .missing),
            (#"{"command":"diagnostic_request","action":"add"}"#, .missing),
            (#"{"command":"diagnostic_request","action":"add","request":7}"#, .wrongKind),
            (
                #"{"command":"diagnostic_request","action":"add","request":{"id":0,"mode":1}}"#,
                .outOfRange
            ),
            (
                #"{"command":"diagnostic_request","action":"add","request":{"id":1,"mode":1,"#
                    + #""frequency":-1}}"#, .outOfRange
            ),
        ])
    func json(text: String, problem: MessageProblem) {
        #expect(throws: problem) { try VehicleMessage(json: Array(text.utf8).span) }
    }

    @Test(
        "in protobuf as well",
        arguments: [
            // Not protobuf, although it begins like a message.
            ("04 0802 1aff", MessageProblem.notProtobuf),
            // A type without its part.
            ("02 0802", .missing),
            // A type of firmware 8.1.0 that is not in its definition.
            ("02 0806", .wrongKind),
            // Nine bytes of CAN data.
            ("11 0801 120d 1001 1a09 000000000000000000", .tooMuchData),
            // A number that is NaN.
            ("14 0802 1a10 0a0161 120b 0802 19000000000000f87f", .outOfRange),
            // A name that is not UTF-8.
            ("0b 0802 1a07 0a01ff 1202 0803", .notProtobuf),
            // A value that holds nothing.
            ("09 0802 1a05 0a0161 1200", .missing),
            // A signal and a CAN message in one: the last part counts, and does not match the type.
            ("0f 0802 1a07 0a0161 1202 0803 1202 0801", .missing),
            // A time later than any clock shows.
            ("16 0802 1a07 0a0161 1202 0803 38ffffffffffffffffff01", .outOfRange),
        ])
    func protobuf(bytes: String, problem: MessageProblem) {
        var reader = VehicleMessageReader(recovery: .nextBeginning)
        reader.append(hex(bytes) + Array(#"{"name":"a","value":1}"#.utf8))
        #expect(reader.next()?.json == #"{"name":"a","value":1}"#)
        #expect(reader.counts.problems[problem] == 1, "\(reader.counts)")
    }

    @Test("null is nothing, a list is no value, and unknown members are ignored")
    func lenient() throws {
        func content(_ text: String) throws -> VehicleMessage.Content {
            try VehicleMessage(json: Array(text.utf8).span).content
        }
        let nothing = #"{"name":"a","value":null}"#
        guard case .unknown(let object) = try content(nothing) else {
            Issue.record("\(try content(nothing))")
            return
        }
        #expect(object.text == nothing)
        #expect(
            try content(#"{"name":"a","value":1,"event":null,"more":{"x":[{}]}}"#)
                == .measurement(Measurement("a", .number(1))))
        #expect(
            try content(#"{"bus":1,"message_id":1234,"mode":1,"pid":5,"success":true}"#)
                == .diagnostic(
                    DiagnosticResponse(bus: 1, id: 1234, mode: 1, pid: 5, success: true)))
    }

    @Test("text that is no Unicode is repaired, and counted")
    func repairs() throws {
        var reader = VehicleMessageReader(recovery: .nextBeginning)
        reader.append(Array(#"{"name":"a","value":""#.utf8) + [0xE9] + Array("\"}\0".utf8))
        reader.append(#"{"name":"b","value":"\ud800"}"#.utf8)
        #expect(reader.next()?.content == .measurement(Measurement("a", .text("\u{FFFD}"))))
        #expect(reader.next()?.content == .measurement(Measurement("b", .text("\u{FFFD}"))))
        #expect(reader.counts.repaired == 2 && reader.counts.failures == 0)
    }

    @Test("what is written is ASCII in one line, whatever was read")
    func ascii() throws {
        let text =
            "{\"name\":\"caf\u{E9}\\u0000\u{1F600}\",\"value\":1,\"extras\":{\n\"\u{E9}\":2}}"
        let json = try VehicleMessage(json: Array(text.utf8).span).json
        #expect(
            json == #"{"name":"caf\u00e9\u0000\ud83d\ude00","value":1,"extras":{ "\u00e9":2}}"#)
        let message = try VehicleMessage(json: Array(json.utf8).span)
        guard case .measurement(let measurement) = message.content else { return }
        #expect(measurement.name == "caf\u{E9}\0\u{1F600}")
    }
}
