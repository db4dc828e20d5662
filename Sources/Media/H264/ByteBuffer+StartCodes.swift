import NIOCore

// Buffer operations of both cutters of byte streams with start codes (ITU-T H.264, annex B).

extension ByteBuffer {
    /// The offset of the next 00 00 01, counted from the reader index as `offset` is.
    func startCode(from offset: Int) -> Int? {
        withUnsafeReadableBytes { bytes in
            var index = offset + 2
            while index < bytes.count {
                // Most bytes are neither 0 nor 1: then no code ends at this byte or the next two.
                if bytes[index] > 1 {
                    index += 3
                } else if bytes[index] == 1, bytes[index - 1] == 0, bytes[index - 2] == 0 {
                    return index - 2
                } else {
                    index += 1
                }
            }
            return nil
        }
    }

    /// Moves the rest to the front, and releases capacity that something much larger needed.
    mutating func discardReadAndSpareBytes() {
        discardReadBytes()
        guard storageCapacity > 4 * readableBytes + 65_536 else { return }
        self = ByteBuffer(bytes: readableBytesView)
    }
}
