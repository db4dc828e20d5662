import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

@Suite("Control frames are read, built and amended")
struct ControlFrameTests {
    private func frame(_ name: String) throws -> Frame {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(try Fixtures.example(name))
        let frame = try decoder.next()
        return try #require(frame)
    }

    @Test("a grant is read from ACKs of v1, v4 and v5")
    func grants() throws {
        let v1 = SessionGrant(try frame("B1"))
        #expect((v1.version, v1.sessionID, v1.hashID) == (1, 1, 0))
        let v4 = SessionGrant(try frame("B2"))
        #expect((v4.version, v4.sessionID, v4.hashID) == (4, 1, 0x0001_0005))
        let v5 = SessionGrant(try frame("B4"))
        #expect((v5.version, v5.sessionID, v5.hashID) == (5, 2, 0x0002_0005))
        #expect(v5.fullVersion == "5.4.0")
        #expect(v5.mtu == 131072)
        #expect(v5.make == "Bench")
        #expect(v5.model == "Sim")
    }

    @Test("EndService is built as libraries build it, v4 raw and v5 BSON")
    func endService() throws {
        let hash: UInt32 = 0x0001_0005
        let v4 = Frame.endService(version: 4, sessionID: 1, hashID: hash, messageID: 16)
        #expect(v4 == (try frame("C1")))
        let v5 = Frame.endService(version: 5, sessionID: 1, hashID: hash, messageID: 16)
        #expect(v5 == (try frame("C2")))
        #expect(Frame.endService(version: 1, sessionID: 1, hashID: 0).wire.readableBytes == 8)
    }

    @Test("offers of a secondary transport are taken out of an ACK, the rest stays")
    func offers() throws {
        let ack = try frame("B4")
        let amended = try #require(ack.withoutSecondaryTransportOffers())
        let before = try #require(ControlPayload(ack).document)
        let after = try #require(ControlPayload(amended).document)
        let gone = Set(before.elements.map(\.key)).subtracting(after.elements.map(\.key))
        #expect(gone == ["secondaryTransports", "audioServiceTransports"])
        #expect(SessionGrant(amended) == SessionGrant(ack))
        #expect(amended.withoutSecondaryTransportOffers() == nil)
    }

    /// Keys and texts in ISO 8859-1, a value of a type no frame uses, an array with keys of its own,
    /// and bytes after the document.
    private static let foreign = [
        "02 6D616BE9 00 06000000 43697472F6 00", "02 6D616B65 00 09000000 436974726FEB6E2E 00",
        "0A FFFEFD 00", "04 6C697374 00 0E000000 02 E9 00 02000000 E9 00 00",
    ]

    @Test("what is taken out of an ACK takes no byte of anybody else's with it, nor adds one")
    func foreignBytes() throws {
        func document(_ elements: [String]) -> ByteBuffer {
            var body = bytes(hex: elements.joined() + "00")
            var wire = ByteBuffer()
            wire.writeInteger(Int32(body.readableBytes + 4), endianness: .little)
            wire.writeBuffer(&body)
            wire.writeString("behind")
            return wire
        }
        let key = "7365636F6E646172795472616E73706F72747300"
        let offer = "04 \(key) 10000000 02 3000 04000000 544350 00 00"
        let others = Self.foreign
        // Even twice, which a reader of keys would not notice.
        for place in 0...others.count {
            var elements = others
            elements.insert(offer, at: place)
            elements.append(offer)
            let ack = Frame.control(.startServiceACK, session: 1, payload: document(elements))
            let amended = try #require(ack.withoutSecondaryTransportOffers())
            #expect(amended.payload == document(others))
        }
        let ack = Frame.control(.startServiceACK, session: 1, payload: document(others))
        #expect(ack.withoutSecondaryTransportOffers() == nil)
    }

    @Test("an ACK that offers nothing is left alone, also when it lists the primary transport")
    func noOffers() throws {
        #expect(try frame("B3").withoutSecondaryTransportOffers() == nil)
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(try Fixtures.capture("js-full-1.down.bin"))
        let next = try decoder.next()
        let ack = try #require(next)
        #expect(ControlPayload(ack).document?.array("videoServiceTransports") == [.int32(1)])
        #expect(ack.withoutSecondaryTransportOffers() == nil)
    }

    @Test("a refusal keeps the request's header version and gives its reason from v5 on")
    func refusals() throws {
        let v1 = Frame.startServiceNAK(of: try frame("A2"), reason: "no head unit")
        #expect(v1 == (try frame("B5")).withSession(0))
        let v5 = Frame.startServiceNAK(of: try frame("A3"), reason: "no head unit")
        #expect(v5.version == 5)
        #expect(ControlPayload(v5).document?.string("reason") == "no head unit")
    }

    @Test(
        "every BSON payload decodes and encodes to the same bytes", arguments: Fixtures.hexExamples)
    func bson(example: Fixtures.HexExample) throws {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(example.bytes)
        let next = try decoder.next()
        let frame = try #require(next)
        guard frame.type == .control, let document = ControlPayload(frame).document else { return }
        #expect(document.bytes == frame.payload)
    }
}

extension Frame {
    /// The same control frame for another session.
    fileprivate func withSession(_ session: UInt8) -> Frame {
        Frame(
            version: version, type: type, service: service, info: info, sessionID: session,
            messageID: messageID ?? 0, payload: payload)
    }
}
