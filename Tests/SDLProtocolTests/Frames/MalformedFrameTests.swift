// Hostile bytes: a trap here would let any peer on the network stop the relay.

import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

@Suite("Malformed frames are refused with the reason")
struct MalformedFrameTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var hex: String
        var error: FrameError
        var testDescription: String { "\(error)" }
    }

    @Test(
        "each header rule is checked",
        arguments: [
            Case(hex: "00", error: .reservedVersion(0)),
            Case(hex: "60", error: .reservedVersion(6)),
            Case(hex: "F1", error: .reservedVersion(15)),
            Case(hex: "18", error: .compressed),
            Case(hex: "54", error: .reservedFrameType(4)),
            Case(hex: "57", error: .reservedFrameType(7)),
            Case(hex: "51 01", error: .unknownService(1)),
            Case(hex: "51 FF", error: .unknownService(255)),
            Case(hex: "50 07 0A 01 00000000", error: .unknownControlFrame(0x0A)),
            Case(hex: "51 07 01 01 00000001 00000001", error: .unexpectedInfo(1)),
            Case(hex: "52 07 00 01 00000009 00000001", error: .firstFrameSize(9)),
            Case(hex: "52 07 00 01 00000000 00000001", error: .firstFrameSize(0)),
            Case(hex: "5A 07 00 01 00000008 00000001", error: .encryptedFirstFrame),
            Case(hex: "51 07 00 01 00000000 00000001", error: .empty),
            Case(hex: "53 07 01 01 00000000 00000001", error: .empty),
            Case(
                hex: "51 07 00 01 0002001D 00000001",
                error: .tooLarge(bytes: 131_101, limit: 131_100)),
            Case(
                hex: "51 07 00 01 FFFFFFFF 00000001",
                error: .tooLarge(bytes: 4_294_967_295, limit: 131_100)),
            Case(hex: "21 07 00 01 000005D1 00000001", error: .tooLarge(bytes: 1489, limit: 1488)),
            Case(hex: "11 07 00 01 000005D1", error: .tooLarge(bytes: 1489, limit: 1488)),
            Case(hex: "51 07 00 01 00000001 00000000", error: .messageIDZero),
            Case(hex: "53 07 01 01 00000001 00000000", error: .messageIDZero),
            Case(hex: "51 07 00 00 00000001 00000001", error: .sessionZero),
            Case(hex: "50 07 04 00 00000000 00000000", error: .sessionZero),
        ])
    func headerRules(testCase: Case) {
        let input = bytes(hex: testCase.hex)
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        decoder.append(input)
        #expect(throws: testCase.error) { try decoder.next() }
        #expect(decoder.undecoded == input)
        #expect(decoder.offset == 0)
    }

    @Test("the offset of a fault counts the good frames before it")
    func offset() throws {
        var decoder = FrameDecoder(rules: .fromApp(), recovery: .fail)
        var stream = try Fixtures.example("A3")
        stream.writeBytes([0x47, 0x45, 0x54, 0x20])
        decoder.append(stream)
        let first = try decoder.next()
        #expect(first != nil)
        #expect(throws: FrameError.reservedFrameType(7)) { try decoder.next() }
        #expect(decoder.offset == 44)
        #expect(decoder.undecoded.hexExcerpt() == "47 45 54 20 |GET |")
    }

    @Test("what head units really send is tolerated from them, and from nobody else")
    func headUnitQuirks() throws {
        for quirk in [
            "52 07 00 01 00000008 00000000 0000001C 00000003",  // message ID truncated to 0
            "53 07 01 01 00000001 00000000 41",
            "51 07 00 01 00000001 00000000 41",  // on a session that it has ended
            "51 07 07 01 00000001 00000001 41",  // info on a single frame
            "5A 07 00 01 00000004 00000001 01020304",  // encrypted first frame
        ] {
            var lenient = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
            lenient.append(bytes(hex: quirk))
            let accepted = try lenient.next()
            #expect(accepted != nil)
            var strict = FrameDecoder(rules: .fromApp(), recovery: .fail)
            strict.append(bytes(hex: quirk))
            #expect(throws: FrameError.self) { try strict.next() }
        }
    }

    @Test("random bytes never trap, whatever their slicing")
    func randomBytes() async {
        var random = SeededGenerator(seed: 2776)
        for _ in 0..<Effort.rounds(2000, orQuickly: 500) {
            await Task.yield()
            var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .resynchronise)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let count = Int.random(in: 0...200, using: &random)
                let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                decoder.append(ByteBuffer(bytes: noise))
                while (try? decoder.next()) != nil {}
            }
        }
    }
}
