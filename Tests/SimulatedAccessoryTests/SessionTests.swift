import NIOCore
import SDLProtocol
import SimulatedAccessory
import Testing

@Suite struct SessionTests {
    @Test("a v1 StartService with BSON opens a v5 session with strict types")
    func opensV5() throws {
        var link = try PaperLink(["mtu": "65536", "make": "Bench", "model": "Sim"])
        let frames = try link.says(hex: Hex.startServiceV1WithBSON)
        let ack = try #require(frames.first)
        #expect(frames.count == 1)
        #expect(ack.version == 5 && ack.sessionID == 1 && ack.messageID == 0)
        #expect(ack.controlType == .startServiceACK && ack.service == .rpc)
        let document = try #require(ControlPayload(ack).document)
        let hash = try #require(document.int32("hashId"))
        #expect(hash != 0 && hash != -1)
        #expect(document.int64("mtu") == 65536)
        #expect(document.string("protocolVersion") == "5.4.0")
        #expect(document.string("make") == "Bench" && document.string("model") == "Sim")
    }

    @Test("a v5 header is accepted for the first StartService, with or without payload")
    func v5Header() throws {
        var link = try PaperLink()
        let first = try #require(try link.says(hex: Hex.startServiceV5).first)
        #expect(SessionGrant(first).fullVersion == "5.4.0")
        let second = try #require(try link.says(hex: "50070100 00000000 00000000").first)
        #expect(SessionGrant(second).fullVersion == "5.0.0")
        #expect(second.sessionID == 2)
    }

    @Test("the agreed version is the lower of both")
    func negotiates() throws {
        var link = try PaperLink(["protocol": "5.2.0"])
        let grant = try link.opensSession()
        #expect(grant.version == 5 && grant.fullVersion == "5.2.0")
        // Vehicle identification came with 5.4.
        #expect(grant.make == nil)
    }

    @Test("an app without BSON gets v4 and a raw hash, a v1 head unit gives a bare ACK")
    func opensOlder() throws {
        var link = try PaperLink()
        let ack = try #require(try link.says(hex: Hex.startServiceV1).first)
        #expect(ack.version == 4 && ack.payloadBytes == 4)
        #expect(SessionGrant(ack).hashID != 0)

        var four = try PaperLink(["protocol": "4"])
        #expect(try four.opensSession().version == 4)

        var one = try PaperLink(["protocol": "1"])
        let bare = try one.says(hex: Hex.startServiceV1)
        #expect(bare.map(\.wire) == [ByteBuffer(bytes: bytes(hex: "10070201 00000000"))])
    }

    @Test("the app's first frame fixes a version below 5")
    func settlesVersion() throws {
        var link = try PaperLink()
        _ = try link.says(hex: Hex.startServiceV1)
        let answers = link.requests(
            .registerAppInterface, registration("Old", appID: "1", version: 4), version: 3)
        #expect(answers.first?.result == "SUCCESS")
        let heard = link.says(.endService(version: 3, sessionID: 1, hashID: 0))
        #expect(heard.first?.version == 3)
    }

    @Test(
        "StartService is refused for versions below 5 in BSON, for encryption, for service 0x0F",
        arguments: [
            // {protocolVersion: "4.1.0"}
            """
            50070100 00000020 00000000
            20000000 02 70726f746f636f6c56657273696f6e00 06000000 342e312e3000 00
            """,
            "58070100 00000000 00000000",
            "500f0100 00000000 00000000",
        ])
    func refuses(hex: String) throws {
        var link = try PaperLink()
        let answer = try #require(try link.says(hex: hex).first)
        #expect(answer.controlType == .startServiceNAK)
        #expect(answer.version == 5)
        #expect(ControlPayload(answer).document?.string("reason") != nil)
        #expect(link.accessory.sessionIDs.isEmpty)
    }

    @Test("the lowest free session ID is granted, and NAK when there is none")
    func sessionIDs() throws {
        var link = try PaperLink()
        var grants: [SessionGrant] = []
        for _ in 1...255 { grants.append(try link.opensSession()) }
        #expect(grants.map(\.sessionID) == Array(1...255))
        #expect(Set(grants.map(\.hashID)).count == 255)
        let refused = try link.says(hex: Hex.startServiceV1WithBSON)
        // v1, because the request was: sdl_core gives no reason in that case either.
        #expect(refused.map(\.wire) == [ByteBuffer(bytes: bytes(hex: "10070300 00000000"))])
        _ = link.says(.endService(version: 5, sessionID: 9, hashID: grants[8].hashID))
        #expect(try link.opensSession().sessionID == 9)
    }

    @Test("EndService needs the right hash")
    func endService() throws {
        var link = try PaperLink()
        let grant = try link.opensSession()
        let wrong = link.says(.endService(version: 5, sessionID: 1, hashID: grant.hashID ^ 1))
        let nak = try #require(wrong.first)
        #expect(nak.controlType == .endServiceNAK)
        #expect(
            ControlPayload(nak).document?.array("rejectedParams") == [.string("hashId")])
        #expect(link.accessory.sessionIDs == [1])
        let right = link.says(.endService(version: 5, sessionID: 1, hashID: grant.hashID))
        #expect(right.map(\.controlType) == [.endServiceACK])
        #expect(right.first?.payloadBytes == 0)
        #expect(link.accessory.sessionIDs.isEmpty)
    }

    @Test("a heartbeat is acknowledged with its session and message ID")
    func heartbeat() throws {
        var link = try PaperLink()
        let answer = try link.says(hex: "40000001 00000000 00000007")
        #expect(answer.map(\.wire) == [ByteBuffer(bytes: bytes(hex: "4000ff01 00000000 00000007"))])
    }

    @Test("audio and video are acknowledged once the app is visible, and counted")
    func streams() throws {
        var link = try PaperLink()
        _ = try link.opensSession()
        let startVideo = """
            500b0101 00000048 00000000
            48 00 00 00 10 68 65 69 67 68 74 00 e0 01 00 00 10 77 69 64 74 68 00 20
            03 00 00 02 76 69 64 65 6f 50 72 6f 74 6f 63 6f 6c 00 04 00 00 00 52 41
            57 00 02 76 69 64 65 6f 43 6f 64 65 63 00 05 00 00 00 48 32 36 34 00 00
            """
        #expect(try link.says(hex: startVideo).isEmpty, "no answer before registration")
        let navigation = #","appHMIType":["NAVIGATION"]"#
        _ = link.requests(
            .registerAppInterface, registration("Nav", appID: "1", more: navigation))
        let refusal = try #require(try link.says(hex: startVideo).first)
        #expect(refusal.controlType == .startServiceNAK)
        #expect(
            ControlPayload(refusal).document?.string("reason")
                == "streaming needs HMI level FULL or LIMITED, this is NONE")
        _ = link.passes(.seconds(1))
        let ack = try #require(try link.says(hex: startVideo).first)
        let document = try #require(ControlPayload(ack).document)
        #expect(ack.controlType == .startServiceACK && ack.service == .video)
        #expect(document.int32("height") == 480 && document.string("videoCodec") == "H264")
        #expect(document.int64("mtu") == 131_072)
        #expect(try link.says(hex: startVideo).map(\.controlType) == [.startServiceNAK])

        #expect(try link.says(hex: "510b0001 00000005 00000014 0000000165").isEmpty)
        #expect(link.accessory.counters.video.frames == 1)
        #expect(link.accessory.counters.video.bytes == 5)
        #expect(
            try link.says(hex: "500b0401 00000000 00000000").map(\.controlType) == [.endServiceACK])
        _ = try link.says(hex: "510b0001 00000005 00000015 0000000165")
        #expect(link.accessory.counters.video.frames == 1)
        #expect(link.accessory.counters.unexpectedFrames == 1)

        #expect(
            try link.says(hex: "200a0101 00000000 00000000").map(\.controlType)
                == [.startServiceNAK], "below v3 there is no audio")
    }

    @Test("frames of sessions that do not run are counted and not answered")
    func strangers() throws {
        var link = try PaperLink()
        #expect(link.requests(.show, session: 5).isEmpty)
        #expect(link.accessory.counters.unexpectedFrames == 1)
    }

    @Test("the largest StartServiceACK is small enough for iOS")
    func smallACK() throws {
        let name = String(repeating: "x", count: 100)
        var link = try PaperLink(["make": name, "model": name])
        let ack = try #require(try link.says(hex: Hex.startServiceV1WithBSON).first)
        #expect(ack.payloadBytes <= 1011)
    }
}
