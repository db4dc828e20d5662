import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("OpenXCInquiry")
struct OpenXCInquiryTests {
    private static let askVersion = USBControlRequest(type: 0xC0, request: 0x80, length: 100)
    private static let askDeviceID = USBControlRequest(type: 0xC0, request: 0x82, length: 20)
    private static let jsonVersion = command(Array("{\"command\":\"version\"}\0".utf8))
    private static let jsonDeviceID = command(Array("{\"command\":\"device_id\"}\0".utf8))
    private static let protobufVersion = command([6, 8, 4, 0x2A, 2, 8, 1])
    private static let protobufDeviceID = command([6, 8, 4, 0x2A, 2, 8, 2])

    private static func command(_ bytes: [UInt8]) -> USBControlRequest {
        USBControlRequest(type: 0x40, request: 0x83, data: bytes, length: UInt16(bytes.count))
    }

    private func received(_ text: String, _ inquiry: inout OpenXCInquiry) -> OpenXCInquiry.Step {
        received(Array(text.utf8), &inquiry)
    }

    private func received(_ bytes: [UInt8], _ inquiry: inout OpenXCInquiry) -> OpenXCInquiry.Step {
        bytes.withUnsafeBytes { inquiry.received($0) }
    }

    /// An inquiry that listens for answers in JSON.
    private func listening() -> OpenXCInquiry {
        var inquiry = OpenXCInquiry(endpointIn: 0x82)
        #expect(inquiry.start() == .send(Self.askVersion))
        #expect(!inquiry.isListening)
        #expect(inquiry.ended(.stalled) == .send(Self.jsonVersion))
        #expect(inquiry.isListening)
        #expect(inquiry.ended(.done([])) == .send(Self.jsonDeviceID))
        #expect(inquiry.ended(.done([])) == .listen)
        return inquiry
    }

    @Test("beginnings of messages without end cost no more than other bytes")
    func manyBeginnings() {
        func cost(_ byte: UInt8) -> Double {
            var answers = OpenXCAnswers()
            var identity = OpenXCInquiry.Identity()
            let piece = [UInt8](repeating: byte, count: 64)
            let start = ProcessorTime.ofThread()
            for _ in 0..<4096 { piece.withUnsafeBytes { answers.add($0, to: &identity) } }
            return ProcessorTime.ofThread() - start
        }
        let ordinary = cost(UInt8(ascii: "x"))
        for byte in [UInt8(ascii: "{"), UInt8(ascii: "}")] {
            #expect(cost(byte) < 20 * ordinary + 0.1)
        }
    }

    @Test("an answer between noise and in pieces of any size is found")
    func answersInPieces() {
        let text =
            "{{{ }{\"name\":\"x\"}\0{\"command_response\":\"version\",\"message\":\"7.2\","
            + "\"status\":true}\0{\"command_response\":\"device_id\",\"message\":\"A1\"}"
        let bytes = [UInt8](repeating: UInt8(ascii: "{"), count: 3000) + Array(text.utf8)
        for size in [1, 7, 64, 2048, bytes.count] {
            var answers = OpenXCAnswers()
            var identity = OpenXCInquiry.Identity()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes {
                    answers.add($0, to: &identity)
                }
            }
            #expect(identity.version == "7.2" && identity.deviceID == "A1", "pieces of \(size)")
        }
    }

    @Test("firmware 5 is asked for its version alone")
    func firmware5() {
        var inquiry = OpenXCInquiry(endpointIn: 0x81)
        #expect(inquiry.start() == .send(Self.askVersion))
        #expect(inquiry.ended(.done(Array("5.3.1 (default)\0".utf8))) == .end)
        #expect(inquiry.identity.text == "firmware 5.3.1 (default)")
        var silent = OpenXCInquiry(endpointIn: 0x81)
        #expect(silent.ended(.timedOut) == .end)
        #expect(silent.identity.text == nil)
    }

    @Test("firmware 6 answers both questions as text")
    func firmware6() {
        var inquiry = OpenXCInquiry(endpointIn: 0x82)
        #expect(inquiry.ended(.done(Array("6.0.3 (x)".utf8))) == .send(Self.askDeviceID))
        #expect(inquiry.ended(.done(Array("0012F3000006".utf8))) == .end)
        #expect(inquiry.identity.text == "firmware 6.0.3 (x), device ID 0012F3000006")
        var half = OpenXCInquiry(endpointIn: 0x82)
        _ = half.ended(.done(Array("6.0.3".utf8)))
        #expect(half.ended(.stalled) == .end)
        #expect(half.identity.text == "firmware 6.0.3")
    }

    @Test("firmware 7 is given commands, and answers among its messages")
    func firmware7() {
        var inquiry = listening()
        #expect(received(#"{"name":"vehicle_speed","value":12}"# + "\0", &inquiry) == .stay)
        #expect(
            received(
                #"{"command_response":"version","message":"8.2.1 (default)","status":true}"# + "\0",
                &inquiry) == .stay)
        #expect(inquiry.identity.version == "8.2.1 (default)")
        // Cut at an arbitrary place.
        #expect(received(#"{"command_response":"device_id","mess"#, &inquiry) == .stay)
        #expect(received("age\":\"0012F3000007\",\"status\":true}\0", &inquiry) == .end)
        #expect(inquiry.identity.deviceID == "0012F3000007")
        #expect(!inquiry.isListening)
    }

    @Test("silence in JSON is followed by the same in protobuf, silence in that by the end")
    func protobuf() {
        var inquiry = listening()
        #expect(inquiry.deadlinePassed() == .send(Self.protobufVersion))
        #expect(inquiry.ended(.done([])) == .send(Self.protobufDeviceID))
        // OpenXC message format, golden vector: version 8.2.1 (default).
        let version: [UInt8] =
            [0x19, 0x08, 0x05, 0x32, 0x15, 0x08, 0x01, 0x12, 0x0F]
            + Array("8.2.1 (default)".utf8) + [0x18, 0x01]
        // Answers may arrive before the request completes.
        #expect(received([0x0F, 0x08, 0x01] + version, &inquiry) == .stay)
        #expect(inquiry.ended(.done([])) == .listen)
        var silent = inquiry
        let deviceID: [UInt8] =
            [0x16, 0x08, 0x05, 0x32, 0x12, 0x08, 0x02, 0x12, 0x0C]
            + Array("0012F3000008".utf8) + [0x18, 0x01]
        #expect(received(deviceID, &inquiry) == .end)
        #expect(inquiry.identity.text == "firmware 8.2.1 (default), device ID 0012F3000008")
        #expect(silent.deadlinePassed() == .end)
        #expect(silent.identity.text == "firmware 8.2.1 (default)")
    }

    @Test("a version without a device ID is enough: the other format is not tried")
    func versionAlone() {
        var inquiry = listening()
        let answer = #"{"command_response":"version","message":"7.0","status":true}"# + "\0"
        #expect(received(answer, &inquiry) == .stay)
        #expect(inquiry.deadlinePassed() == .end)
    }

    @Test("a device that refuses, breaks off or leaves is asked nothing more")
    func refuses() {
        var gone = OpenXCInquiry(endpointIn: 0x82)
        #expect(gone.ended(.gone) == .end)
        for reply in [USBControlReply.stalled, .timedOut, .gone, .failed("no")] {
            var inquiry = OpenXCInquiry(endpointIn: 0x82)
            _ = inquiry.ended(.stalled)
            #expect(inquiry.ended(reply) == .end)
            #expect(inquiry.deadlinePassed() == .stay)
            #expect(inquiry.identity.text == nil)
        }
    }

    @Test("hostile answers are neither believed nor shown as they are")
    func hostile() {
        var inquiry = listening()
        let long = String(repeating: "x", count: 5000)
        for text in [
            "{", "{}", "{\"command_response\"}", "{\"command_response\":\"version\"}",
            "{\"command_response\":\"version\",\"message\":\"}", long, "\0\0\0",
            "{\"command_response\":\"version\",\"message\":\"\"}",
        ] {
            #expect(received(text, &inquiry) == .stay)
        }
        let lies: [[UInt8]] = [
            [0x19, 0x08, 0x05, 0x32, 0x15, 0x08, 0x01, 0x12, 0xFF, 1, 2],
            [0xFF, 0x08, 0x05, 0x32, 0xFF, 0x08, 0x01, 0x12, 0xFF],
            [0x04, 0x08, 0x05, 0x32, 0x00, 0x08, 0x01, 0x12, 0x00],
        ]
        for bytes in lies { #expect(received(bytes, &inquiry) == .stay) }
        #expect(inquiry.identity.text == nil)
        let escape = "{\"command_response\":\"version\",\"message\":\"\u{1B}[2J1\u{7}\"}\0"
        #expect(received(long + escape, &inquiry) == .stay)
        #expect(inquiry.identity.text == "firmware ?[2J1?")
    }
}
