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
        #expect(throws: BSONError.unsupportedType(0x7F, key: "x")) {
            try BSONDocument(bytes(hex: "08000000 7F 7800 00"))
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
