import NIOCore
import SDLProtocol

/// The sample app's icon: a 70 × 70 picture of a relay, two dots and the line between them. A real PNG, drawn and
/// packed in code, so that no file is needed.
enum AppIcon {
    static let fileName = "relayd-sample.png"
    private static let size = 70

    /// PNG with a palette of three colours and one byte per pixel (PNG specification, "Chunks").
    static let png: ByteBuffer = {
        var header = ByteBuffer()
        header.writeInteger(UInt32(size))
        header.writeInteger(UInt32(size))
        // 8 bits, palette, deflate, no filter, not interlaced.
        header.writeBytes([8, 3, 0, 0, 0])
        var png = ByteBuffer(bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        png.writeChunk("IHDR", Array(header.readableBytesView))
        png.writeChunk("PLTE", [0x12, 0x2B, 0x4A, 0xFF, 0xFF, 0xFF, 0xF2, 0x9F, 0x05])
        png.writeChunk("IDAT", zlibStored(pixels))
        png.writeChunk("IEND", [])
        return png
    }()

    /// Rows of palette indices, each after a filter byte 0.
    private static var pixels: [UInt8] {
        (0..<size).flatMap { y in [0] + (0..<size).map { x in colour(x, y) } }
    }

    private static func colour(_ x: Int, _ y: Int) -> UInt8 {
        func isInside(_ centreX: Int, _ radius: Int) -> Bool {
            (x - centreX) * (x - centreX) + (y - 35) * (y - 35) <= radius * radius
        }
        if isInside(17, 8) || isInside(52, 8) { return 2 }
        if isInside(17, 12) || isInside(52, 12) { return 1 }
        return (33...36).contains(y) && (17...52).contains(x) ? 1 : 0
    }

    /// zlib with one stored block, which holds up to 65,535 bytes (RFC 1950, RFC 1951).
    private static func zlibStored(_ bytes: [UInt8]) -> [UInt8] {
        var first: UInt32 = 1
        var second: UInt32 = 0
        for byte in bytes {
            first = (first + UInt32(byte)) % 65_521
            second = (second + first) % 65_521
        }
        let count = UInt16(bytes.count)
        var stream: [UInt8] = [0x78, 0x01, 0x01]
        stream += [UInt8(count & 0xFF), UInt8(count >> 8)]
        stream += [UInt8(~count & 0xFF), UInt8(~count >> 8)]
        stream += bytes
        let checksum = second << 16 | first
        return stream + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (24 - 8 * $0)) }
    }
}

extension ByteBuffer {
    fileprivate mutating func writeChunk(_ type: String, _ data: [UInt8]) {
        let body = Array(type.utf8) + data
        writeInteger(UInt32(data.count))
        writeBytes(body)
        writeInteger(CRC32.checksum(of: body))
    }
}
