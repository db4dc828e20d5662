// The description of a payload that is not simply one readable RPC in one frame.

import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct PayloadLineTests {
    struct Payload: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The line after time and app, and `kind` in its JSON.
        var line: String
        var kind: String
        var says: @Sendable (inout Dialogue) -> Void
    }

    private static func single(
        _ bytes: [UInt8], version: UInt8 = 5, isEncrypted: Bool = false,
        _ service: ServiceType = .rpc
    ) -> Frame {
        Frame(
            version: version, isEncrypted: isEncrypted, type: .single, service: service,
            sessionID: 1, messageID: 1, payload: ByteBuffer(bytes: bytes))
    }

    private static func first(bytes: UInt32, frames: UInt32, isEncrypted: Bool = false) -> Frame {
        var sizes = ByteBuffer()
        sizes.writeInteger(bytes)
        sizes.writeInteger(frames)
        return Frame(
            version: 5, isEncrypted: isEncrypted, type: .first, service: .rpc, sessionID: 1,
            messageID: 1, payload: sizes)
    }

    private static func consecutive(
        _ info: UInt8, _ text: String, isEncrypted: Bool = false
    ) -> Frame {
        Frame(
            version: 5, isEncrypted: isEncrypted, type: .consecutive, service: .rpc, info: info,
            sessionID: 1, messageID: 1, payload: ByteBuffer(string: text))
    }

    static let payloads: [Payload] = [
        // Encrypted
        Payload(
            testDescription: "an encrypted RPC",
            line: "→  encrypt   encrypted rpc message        5 B", kind: "encrypted"
        ) { $0.says(.fromApp, single([0x17, 3, 3, 0, 0], isEncrypted: true)) },
        Payload(
            testDescription: "an encrypted RPC in frames",
            line: "→  encrypt   encrypted rpc message        8 B in 3 frames", kind: "encrypted"
        ) {
            $0.says(.fromApp, first(bytes: 8, frames: 2))
            $0.says(.fromApp, consecutive(1, "\u{17}abc", isEncrypted: true))
            $0.says(.fromApp, consecutive(0, "\u{17}def", isEncrypted: true))
        },
        Payload(
            testDescription: "a step of the TLS handshake",
            line: "←  security  SendHandshakeData            15 B", kind: "security"
        ) {
            $0.says(
                .fromAccessory,
                single([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 22, 3, 1], .control))
        },
        // Fragmented
        Payload(
            testDescription: "an RPC in frames",
            line: "→  request   Show #1                      \"Hello\"  34 B in 5 frames",
            kind: "request"
        ) { $0.inFrames(of: 10, .request, .show, #"{"mainField1":"Hello"}"#) },
        Payload(
            testDescription: "bulk data in frames",
            line: "→  request   PutFile #1                   \"i\"  bulk 24 B PNG 70×70  "
                + "56 B in 8 frames", kind: "request"
        ) {
            $0.inFrames(
                of: 8, .request, .putFile, #"{"syncFileName":"i"}"#, bulk: TrafficFeed.image)
        },
        Payload(
            testDescription: "a frame out of order",
            line: "→  invalid!  rpc message                  "
                + "consecutive frame 3 where 2 was expected  4 B in 2 frames  [61 62 63 64]",
            kind: "undecodable"
        ) {
            $0.says(.fromApp, first(bytes: 12, frames: 3))
            $0.says(.fromApp, consecutive(1, "abcd"))
            $0.says(.fromApp, consecutive(3, "efgh"))
        },
        Payload(
            testDescription: "a message that stops",
            line: "→  invalid!  rpc message                  "
                + "stopped after 1 of 3 frames  4 B in 2 frames  [61 62 63 64]",
            kind: "undecodable"
        ) {
            $0.says(.fromApp, first(bytes: 12, frames: 3))
            $0.says(.fromApp, consecutive(1, "abcd"))
            $0.silence(10_000)
        },
        Payload(
            testDescription: "a consecutive frame without a first",
            line: "→  invalid!  rpc message                  "
                + "consecutive frame 4 of a message whose first frame was never seen  4 B  [61 62 63 64]",
            kind: "undecodable"
        ) { $0.says(.fromApp, consecutive(4, "abcd")) },
        // Wrapped as in v1
        Payload(
            testDescription: "a v1 request",
            line: "→  request   Show #7                      \"Hello\"  81 B", kind: "request"
        ) {
            $0.says(
                .fromApp,
                .rpcV1(
                    sessionID: 1, type: .request, name: "Show", correlationID: 7,
                    parameters: #"{"mainField1":"Hello"}"#))
        },
        Payload(
            testDescription: "a v1 request of a function nobody knows",
            line: "→  request   Dance #7                     62 B", kind: "request"
        ) {
            $0.says(
                .fromApp, .rpcV1(sessionID: 1, type: .request, name: "Dance", correlationID: 7))
        },
        Payload(
            testDescription: "a v1 message without a wrapper",
            line: "→  invalid!  rpc message                  "
                + "v1 message without \"request\", \"response\" or \"notification\" on top  7 B  [7b 22 61 22 3a 31 7d]",
            kind: "undecodable"
        ) { $0.says(.fromApp, single(Array(#"{"a":1}"#.utf8), version: 1)) },
        // Undecodable
        Payload(
            testDescription: "fewer bytes than an RPC header",
            line: "→  invalid!  rpc message                  "
                + "3 bytes, an RPC header has 12  3 B  [01 02 03]", kind: "undecodable"
        ) { $0.says(.fromApp, single([1, 2, 3])) },
        Payload(
            testDescription: "an RPC type that is reserved",
            line: "→  invalid!  rpc message                  "
                + "RPC type 4, expected 0 (request), 1 (response) or 2 (notification)  12 B  "
                + "[40 00 00 0d 00 00 00 01 00 00 00 00]", kind: "undecodable"
        ) { $0.says(.fromApp, single([0x40, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 0])) },
        Payload(
            testDescription: "more JSON announced than there is",
            line: "→  invalid!  Show #1                      "
                + "the header announces 9 bytes of JSON, 0 follow  12 B  "
                + "[00 00 00 0d 00 00 00 01 00 00 00 09]", kind: "undecodable"
        ) { $0.says(.fromApp, single([0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 9])) },
        Payload(
            testDescription: "parameters that are no JSON",
            line: "→  invalid!  Show #1                      "
                + "parameters are not a JSON object: unexpected byte 0x78 at byte 0  13 B  "
                + "[00 00 00 0d 00 00 00 01 00 00 00 01 78]", kind: "undecodable"
        ) { $0.says(.fromApp, single([0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 1, 0x78])) },
        Payload(
            testDescription: "a security query cut short",
            line: "→  invalid!  control message              "
                + "2 bytes, a security query has 12 or more  2 B  [00 01]", kind: "undecodable"
        ) { $0.says(.fromApp, single([0, 1], .control)) },
    ]

    @Test("every kind of payload has a line that says what it is", arguments: payloads)
    func line(payload: Payload) throws {
        var talk = Dialogue()
        payload.says(&talk)
        #expect(talk.entries.count == 1)
        let line = try #require(talk.lastLine)
        #expect(line.dropFirst("10:31:07.000  #1                ".count) == payload.line)
        let object = try #require(talk.lines(TrafficLog.Configuration(format: .json)).last)
        #expect(object.contains(#""kind":"\#(payload.kind)""#))
    }
}
