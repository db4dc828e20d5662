import NIOCore
import SDLProtocol
import Testing

@Suite struct BulkKindTests {
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Length and name of the chunk, width 70, height 256.
    private static let header: [UInt8] = [
        0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 70, 0, 0, 1, 0,
    ]
    private static let bitmap: [UInt8] =
        Array("BM".utf8) + [UInt8](repeating: 0, count: 16)
        + [70, 0, 0, 0, 0xBA, 0xFF, 0xFF, 0xFF]  // width 70, height -70

    private static let formats: [(bytes: [UInt8], kind: String)] = [
        (png + header, "PNG 70×256"),
        (png, "PNG"),
        ([0xFF, 0xD8, 0xFF, 0xE0], "JPEG"),
        (Array("GIF89a".utf8) + [0x40, 0x01, 0xF0, 0x00], "GIF 320×240"),
        (bitmap, "BMP 70×70"),
        (Array("RIFF....WAVE".utf8), "RIFF"),
        (Array("  {\"policy_table\":1}".utf8), "JSON"),
        (Array("hello, wörld\n".utf8), "text"),
    ]

    @Test("formats are told by their first bytes, images with their size", arguments: formats)
    func known(bytes: [UInt8], kind: String) {
        #expect(BulkKind(ByteBuffer(bytes: bytes))?.description == kind)
    }

    @Test(
        "what looks like nothing is nothing",
        arguments: [[], [0, 1, 0, 1], [0xFE, 0x80]] as [[UInt8]])
    func unknown(bytes: [UInt8]) {
        #expect(BulkKind(ByteBuffer(bytes: bytes)) == nil)
    }

    @Test("any bytes are looked at without harm") func anyBytes() {
        for length in 0...70 {
            for first: UInt8 in [0x89, 0xFF, 0x47, 0x42, 0x52, 0x7B, 0x20, 0x00] {
                var bytes = [UInt8](repeating: 0xFF, count: length)
                if length > 0 { bytes[0] = first }
                _ = BulkKind(ByteBuffer(bytes: bytes))
            }
        }
    }
}
