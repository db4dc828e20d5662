import NIOCore
import SDLProtocol
import Testing

@Suite struct CRC32Tests {
    @Test(
        "checksums are those of zlib",
        arguments: [("", 0), ("123456789", 0xCBF4_3926), ("a", 0xE8B7_BE43)])
    func knownValues(text: String, expected: UInt32) {
        #expect(CRC32.checksum(of: Array(text.utf8)) == expected)
        #expect(CRC32.checksum(of: ByteBuffer(string: text)) == expected)
    }

    @Test("of a slice only its readable bytes count") func slice() {
        var buffer = ByteBuffer(string: "xx123456789yy")
        buffer.moveReaderIndex(forwardBy: 2)
        buffer.moveWriterIndex(to: buffer.writerIndex - 2)
        #expect(CRC32.checksum(of: buffer) == 0xCBF4_3926)
    }
}
