import NIOCore

// What both cutters of byte streams with start codes need of their buffer (ITU-T H.264, annex B).

extension ByteBuffer {
    /// Where 00 00 01 begins next; counted, as `offset` is, from the reader index.
    func startCode(from offset: Int) -> Int? {
        withUnsafeReadableBytes { bytes in
            var index = offset + 2
            while index < bytes.count {
                // Most bytes are none of the three: then no code ends at this or the two behind it.
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

    /// Moves what is left to the front, and gives back room that something much larger took.
    mutating func discardReadAndSpareBytes() {
        discardReadBytes()
        guard storageCapacity > 4 * readableBytes + 65_536 else { return }
        self = ByteBuffer(bytes: readableBytesView)
    }
}
