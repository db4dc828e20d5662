import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

@Suite("BSON of control payloads is read within bounds")
struct BSONDocumentTests {
    private let sample: BSONDocument = [
        "text": .string("Grüße"), "small": .int32(-2), "large": .int64(1 << 40),
        "list": .array([.string("a"), .int32(1)]), "flag": .bool(true), "ratio": .double(0.5),
        "nested": .document(["key": .string("")]),
    ]

    @Test("what is built is read back, in order")
    func roundTrip() throws {
        #expect(try BSONDocument(sample.bytes) == sample)
    }

    @Test("types are strict: an int64 is no int32")
    func strictTypes() {
        #expect(sample.int32("large") == nil)
        #expect(sample.int64("small") == nil)
        #expect(sample.string("absent") == nil)
    }

    @Test("a document cut anywhere is refused, never trapped on")
    func truncated() {
        let whole = sample.bytes
        for length in 0..<whole.readableBytes {
            let cut = whole.getSlice(at: whole.readerIndex, length: length) ?? ByteBuffer()
            #expect(throws: BSONError.self) { try BSONDocument(cut) }
        }
    }

    @Test("nesting, element count and size are bounded")
    func bounds() {
        var deep: BSONDocument = [:]
        for _ in 0..<10 { deep = ["d": .document(deep)] }
        #expect(throws: BSONError.tooDeep) { try BSONDocument(deep.bytes) }
        let wide: BSONDocument = ["w": .array(Array(repeating: .int32(1), count: 2000))]
        #expect(throws: BSONError.tooManyElements) { try BSONDocument(wide.bytes) }
        let claimsMuch = bytes(hex: "FFFFFF7F 00")
        #expect(throws: BSONError.tooLarge(2_147_483_647)) { try BSONDocument(claimsMuch) }
        #expect(throws: BSONError.declaredSize(-1, available: 5)) {
            try BSONDocument(bytes(hex: "FFFFFFFF 00"))
        }
        #expect(throws: BSONError.unsupportedType(0x14, key: "x")) {
            try BSONDocument(bytes(hex: "08000000 14 7800 00"))
        }
    }

    @Test(
        "a value of a type that no frame uses costs nothing but itself, and passes byte for byte",
        arguments: [
            ("05", "03000000 00 616263"), ("06", ""), ("07", "000102030405060708090A0B"),
            ("08", "02"), ("09", "0000000000000001"), ("0A", ""), ("0B", "6100 6900"),
            ("0C", "02000000 6100 000102030405060708090A0B"), ("0D", "02000000 6100"),
            ("0E", "02000000 6100"), ("0F", "0F000000 02000000 6100 05000000 00"),
            ("11", "0000000000000001"), ("13", "000102030405060708090A0B0C0D0E0F"), ("7F", ""),
            ("FF", ""), ("03", "08000000 14 7800 00"), ("04", "08000000 14 3000 00"),
        ])
    func otherTypes(type: String, value: String) throws {
        // A value of the type, then the hash ID, which must not be lost.
        var body = bytes(hex: "\(type) 7800 \(value) 10 686173684964 00 05000100 00")
        var wire = ByteBuffer()
        wire.writeInteger(Int32(body.readableBytes + 4), endianness: .little)
        wire.writeBuffer(&body)
        let document = try BSONDocument(wire)
        #expect(document.int32(ControlKey.hashID) == 65_541)
        #expect(document.bytes == wire)
        for length in 0..<wire.readableBytes {
            let cut = wire.getSlice(at: wire.readerIndex, length: length) ?? ByteBuffer()
            #expect(throws: BSONError.self) { try BSONDocument(cut) }
        }
    }

    @Test("the length of a value that is passed over is not believed")
    func falseLengths() {
        for value in ["05 7800 FFFFFFFF", "05 7800 FFFFFF7F", "0D 7800 FFFFFF7F", "0B 7800 61"] {
            var body = bytes(hex: value + "00")
            var wire = ByteBuffer()
            wire.writeInteger(Int32(body.readableBytes + 4), endianness: .little)
            wire.writeBuffer(&body)
            #expect(throws: BSONError.truncated) { try BSONDocument(wire) }
        }
    }

    @Test("a value whose length counts itself has at least that length")
    func countedLengths() {
        // With a length of 0, its length field would be read as the next element: the end, or a key that was
        // not sent.
        for (length, code) in [(0, "00000000"), (3, "03000000"), (13, "0D000000")] {
            var body = bytes(hex: "0F 7800 \(code) 01000000 00 05000000 00 00")
            let available = body.readableBytes - 3
            var wire = ByteBuffer()
            wire.writeInteger(Int32(body.readableBytes + 4), endianness: .little)
            wire.writeBuffer(&body)
            #expect(throws: BSONError.declaredSize(length, available: available)) {
                try BSONDocument(wire)
            }
        }
    }

    @Test("damaged documents never trap")
    func damaged() async {
        var random = SeededGenerator(seed: 54)
        let whole = Array(sample.bytes.readableBytesView)
        for _ in 0..<20_000 {
            await Task.yield()
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(
                    in: 0...255, using: &random)
            }
            _ = try? BSONDocument(ByteBuffer(bytes: bytes))
        }
    }
}
