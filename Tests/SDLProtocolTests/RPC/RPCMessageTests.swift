import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

@Suite struct RPCMessageTests {
    @Test("a response has its result and its correlation ID")
    func readsResponse() throws {
        let rpc = try RPCMessage(RPCExamples.message(RPCExamples.listFilesResponse))
        #expect(rpc.type == .response)
        #expect(rpc.functionID == .listFiles)
        #expect(rpc.functionName == "ListFiles")
        #expect(rpc.correlationID == 3)
        #expect(RPCOutcome(rpc)?.success == true)
        #expect(RPCOutcome(rpc)?.resultCode == "SUCCESS")
        #expect(rpc.parameters.integer("spaceAvailable") == 1000)
        #expect(rpc.bulkBytes == 0)
    }

    @Test("a request has its parameters")
    func readsRequest() throws {
        let rpc = try RPCMessage(RPCExamples.message(RPCExamples.registerRequest))
        #expect(rpc.type == .request)
        #expect(rpc.functionID == .registerAppInterface)
        #expect(rpc.parameters.string("appName") == "Bench")
        #expect(rpc.parameters.string("appID") == "4711")
        #expect(rpc.parameters.bool("isMediaApplication") == false)
        #expect(
            SDLVersion(rpc.parameters.object("syncMsgVersion"))
                == SDLVersion(8, 0, 0))
        #expect(RPCOutcome(rpc) == nil)
    }

    @Test("a notification has its parameters")
    func readsNotification() throws {
        let rpc = try RPCMessage(RPCExamples.message(RPCExamples.onHMIStatus))
        #expect(rpc.type == .notification)
        #expect(rpc.functionID == .onHMIStatus)
        #expect(rpc.parameters.string("hmiLevel").flatMap(HMILevel.init(rawValue:)) == .full)
    }

    @Test("bulk data is what follows the JSON")
    func readsBulk() throws {
        let file = try RPCMessage(RPCExamples.message(RPCExamples.putFile))
        #expect(file.parameters.string("syncFileName") == "icon")
        #expect(file.bulkBytes == 8)
        #expect(file.bulk == ByteBuffer(bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
        let audio = try RPCMessage(RPCExamples.message(RPCExamples.onAudioPassThru))
        #expect(audio.functionID == .onAudioPassThru)
        #expect(audio.bulk == ByteBuffer(bytes: [0x00, 0x10, 0x00, 0x20]))
    }

    @Test("a v1 message names its function in JSON, and may end with NUL bytes")
    func readsV1() throws {
        let rpc = try RPCMessage(RPCExamples.message(RPCExamples.unregisterV1))
        #expect(rpc.type == .request)
        #expect(rpc.functionID == .unregisterAppInterface)
        #expect(rpc.correlationID == 6)
        let pretty = v1(
            "{\n\"response\" : {\"name\":\"Show\",\"correlationID\":7,"
                + "\"parameters\":{\"success\":false,\"resultCode\":\"REJECTED\"}}}\n\0\0")
        let response = try RPCMessage(pretty)
        #expect(response.functionID == .show)
        #expect(RPCOutcome(response)?.success == false)
        let unknown = try RPCMessage(v1(#"{"notification":{"name":"OnNew\u001b"}}"#))
        #expect(unknown.functionName == "OnNew")
        #expect(unknown.correlationID == nil)
    }

    private func v1(_ text: String) -> Message {
        Message(
            version: 1, service: .rpc, sessionID: 1, messageID: nil,
            payload: ByteBuffer(string: text))
    }

    private func v5(_ bytes: [UInt8]) -> Message {
        Message(
            version: 5, service: .rpc, sessionID: 1, messageID: 1,
            payload: ByteBuffer(bytes: bytes))
    }

    @Test("what is no RPC is refused with the reason")
    func refuses() {
        #expect(throws: RPCError.tooShort(bytes: 11)) {
            try RPCMessage(v5(Array(repeating: 0, count: 11)))
        }
        #expect(throws: RPCError.unknownType(3)) {
            try RPCMessage(v5([0x30] + Array(repeating: 0, count: 11)))
        }
        #expect(throws: RPCError.jsonTooLong(declared: 0xFFFF_FFFF, available: 2)) {
            try RPCMessage(v5([0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255, 0x7B, 0x7D]))
        }
        #expect(
            throws: RPCError.notJSON(JSONError(reason: .unexpected(0x78), offset: 0))
        ) {
            try RPCMessage(v5([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0x78]))
        }
        #expect(throws: RPCError.noWrapper) { try RPCMessage(v1("{}")) }
        #expect(throws: RPCError.noWrapper) { try RPCMessage(v1(#"{"request":5}"#)) }
        #expect(throws: RPCError.noName) { try RPCMessage(v1(#"{"request":{}}"#)) }
        #expect(throws: RPCError.notJSON(JSONError(reason: .truncated, offset: 0))) {
            try RPCMessage(v1("\0\0\0"))
        }
    }

    @Test("no JSON at all means no parameters")
    func readsEmpty() throws {
        let rpc = try RPCMessage(v5([0, 0, 0, 34, 0, 0, 0, 1, 0, 0, 0, 0]))
        #expect(rpc.parameters == .empty)
        #expect(rpc.functionID == .listFiles)
    }

    @Test("of a message cut off in its JSON the header is still read")
    func readsTruncated() throws {
        var message = v5([0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 1, 0, 0x7B, 0x22])
        message.payloadBytes = 1000
        let rpc = try RPCMessage(message)
        #expect(rpc.isTruncated)
        #expect(rpc.functionID == .show)
        #expect(rpc.bulkBytes == 1000 - 12 - 256)
    }

    @Test(
        "success is taken from the result code when the response does not say",
        arguments: [
            (#"{"resultCode":"SUCCESS"}"#, true), (#"{"resultCode":"WARNINGS"}"#, true),
            (#"{"resultCode":"DISALLOWED"}"#, false), ("{}", false),
            (#"{"resultCode":"WARNINGS","success":false}"#, false),
        ])
    func readsOutcome(json: String, success: Bool) throws {
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: .response, functionID: 13,
            correlationID: 1, json: json)
        #expect(RPCOutcome(try RPCMessage(Message(single: frame)))?.success == success)
    }

    @Test("security queries are read, JSON first or last")
    func readsSecurityQueries() throws {
        let handshake = try #require(
            SecurityQuery(RPCExamples.message(RPCExamples.handshake)))
        #expect(handshake.kind == .request)
        #expect(handshake.queryID == .sendHandshakeData)
        #expect(handshake.binaryBytes == 5)
        let error = try #require(SecurityQuery(RPCExamples.message(RPCExamples.internalError)))
        #expect(error.kind == .notification)
        #expect(error.queryID == .sendInternalError)
        #expect(error.errorCode == 255)
        #expect(error.json?.string("text") == "internal")
        let json = Array(#"{"id":9}"#.utf8)
        let header: [UInt8] = [0x20, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, UInt8(json.count)]
        #expect(SecurityQuery(v5(header + [9] + json))?.errorCode == 9)
        #expect(SecurityQuery(v5(header + json + [9]))?.errorCode == 9)
        #expect(SecurityQuery(v5(header))?.json == nil)
        #expect(SecurityQuery(v5(Array(header.prefix(11)))) == nil)
    }

    @Test("random messages neither crash nor hang")
    func survivesFuzzing() throws {
        var random = SeededGenerator(seed: 7)
        let examples = try [
            RPCExamples.registerRequest, RPCExamples.putFile, RPCExamples.unregisterV1,
            RPCExamples.internalError,
        ].map(RPCExamples.message)
        for _ in 0..<20_000 {
            guard var message = examples.randomElement(using: &random) else { continue }
            var bytes = Array(message.payload.readableBytesView)
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] =
                    UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random) / 4)
            message.payload = ByteBuffer(bytes: bytes)
            message.payloadBytes = bytes.count
            if let rpc = try? RPCMessage(message) { _ = RPCOutcome(rpc) }
            _ = SecurityQuery(message)
        }
    }
}
