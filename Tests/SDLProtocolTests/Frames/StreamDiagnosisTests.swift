import NIOCore
import Testing

@testable import SDLProtocol

@Suite("Common wrong peers are recognised by their first bytes")
struct StreamDiagnosisTests {
    @Test(
        "recognises",
        arguments: [
            ("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n", WrongProtocol.webSocket),
            ("GET / HTTP/1.1\r\nHost: x\r\n", .http),
            ("POST /x HTTP/1.1\r\n", .http),
            ("HTTP/1.1 400 Bad Request\r\n", .http),
            ("\u{16}\u{03}\u{01}\u{02}\u{00}", .tls),
            ("SSH-2.0-OpenSSH_9.2\r\n", .ssh),
            ("{\"name\":\"engine_speed\",\"value\":772}\0", .openXCJSON),
            ("\":772}\0{\"name\":\"vehicle_speed\"", .openXCJSON),
            ("\u{0E}\u{08}\u{02}\u{1A}", .openXCProtobuf),
        ])
    func recognises(text: String, expected: WrongProtocol) {
        let found = WrongProtocol(firstBytes: ByteBuffer(string: text))
        #expect(found == expected)
        #expect(found?.adviceOnAppPort.isEmpty == false)
        #expect(found?.adviceOnLink.isEmpty == false)
    }

    @Test("Telnet is a guess, made only of a command, and told as one")
    func telnet() {
        let negotiation = WrongProtocol(firstBytes: ByteBuffer(bytes: [0xFF, 0xFB, 0x1F]))
        #expect(negotiation == .telnet)
        #expect(negotiation?.adviceOnAppPort.contains("may be") == true)
        #expect(WrongProtocol(firstBytes: ByteBuffer(bytes: [0xFF, 0x00, 0x81])) == nil)
    }

    @Test("does not name what it does not know")
    func unknown() {
        for text in ["", "\0\0\0\0", "hello", "AT+CGMI\r"] {
            #expect(WrongProtocol(firstBytes: ByteBuffer(string: text)) == nil)
        }
    }
}
