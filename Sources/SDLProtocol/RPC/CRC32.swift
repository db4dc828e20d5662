public import NIOCore

/// CRC-32 as in IEEE 802.3, zlib and PNG (MOBILE_API, "PutFile", parameter `crc`). Used by
/// simulator, sample app and the advice.
public enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { crc, _ in
            crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1
        }
    }

    public static func checksum(of bytes: ByteBuffer) -> UInt32 {
        bytes.withUnsafeReadableBytes(checksum)
    }

    public static func checksum(of bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes(checksum)
    }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            var crc = ~UInt32(0)
            for byte in bytes {
                crc = crc >> 8 ^ table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)]
            }
            return ~crc
        }
    }
}
