import NIOCore
import SDLProtocol
import Testing

@Suite struct BulkKindTests {
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Length and name of the chunk, width 70, height 256.
    private static let header: [UInt8] = [
        0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 70, 0, 0, 1, 0,
    ]
    /// Start of image, and a JFIF segment of 4 bytes.
    private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0x4A, 0x46]
    /// Progressive frame of 11 bytes: precision 8, height 240, width 320.
    private static let frame: [UInt8] = [0xFF, 0xC2, 0, 11, 8, 0, 240, 1, 64]
    private static let bitmap: [UInt8] =
        Array("BM".utf8) + [UInt8](repeating: 0, count: 16)
        + [70, 0, 0, 0, 0xBA, 0xFF, 0xFF, 0xFF]  // width 70, height -70

    private static let formats: [(bytes: [UInt8], kind: String)] = [
        (png + header, "PNG 70×256"),
        (png, "PNG"),
        ([0xFF, 0xD8, 0xFF, 0xE0], "JPEG"),
        (jpeg + frame, "JPEG 320×240"),
        (jpeg + [0xFF] + frame, "JPEG 320×240"),
        // The marker of Huffman tables lies among those of frames; the image data begins without a frame.
        (jpeg + [0xFF, 0xC4, 0, 4, 1, 2] + frame, "JPEG 320×240"),
        (jpeg + [0xFF, 0xDA] + frame, "JPEG"),
        (jpeg + frame.dropLast(), "JPEG"),
        (png + Array(header.prefix(4)) + Array("tEXt".utf8) + header.suffix(8), "PNG"),
        (Array("GIF89a".utf8) + [0x40, 0x01, 0xF0, 0x00], "GIF 320×240"),
        (bitmap, "BMP 70×70"),
        (Array("RIFF....WAVE".utf8), "WAV"),
        (Array("RIFF....WEBP".utf8), "WebP"),
        (Array("ID3\u{4}".utf8), "MP3"),
        ([0xFF, 0xFB, 0x90], "MP3"),
        ([0xFF, 0xF1, 0x50], "AAC"),
        (Array("PK\u{3}\u{4}".utf8), "ZIP"),
        ([0x1F, 0x8B, 8], "gzip"),
        (Array("  {\"policy_table\":1}".utf8), "JSON"),
        (Array("hello, wörld\n".utf8), "text"),
    ]

    @Test("formats are told by their first bytes, images with their size", arguments: formats)
    func known(bytes: [UInt8], kind: String) {
        #expect(BulkKind(ByteBuffer(bytes: bytes))?.description == kind)
    }

    @Test(
        "what looks like nothing is nothing",
        arguments: [[], [0, 1, 0, 1], [0xFE, 0x80], Array("RIFF".utf8) + [0]] as [[UInt8]])
    func unknown(bytes: [UInt8]) {
        #expect(BulkKind(ByteBuffer(bytes: bytes)) == nil)
    }

    @Test("any bytes are looked at without harm") func anyBytes() {
        for length in 0...70 {
            for first: UInt8 in [0x89, 0xFF, 0x47, 0x42, 0x52, 0x7B, 0x20, 0x00] {
                for rest: UInt8 in [0xFF, 0x00] {
                    var bytes = [UInt8](repeating: rest, count: length)
                    if length > 0 { bytes[0] = first }
                    _ = BulkKind(ByteBuffer(bytes: bytes))
                }
            }
        }
        // Segments without end, and padding without end.
        let segments = Array(repeating: [0xFF, 0xE1, 0, 2] as [UInt8], count: 10_000).flatMap(
            \.self)
        for endless in [segments, [UInt8](repeating: 0xFF, count: 100_000)] {
            let kind = BulkKind(ByteBuffer(bytes: [0xFF, 0xD8] + endless))
            #expect(kind?.description == "JPEG")
        }
    }
}
