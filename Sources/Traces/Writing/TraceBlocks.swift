package import NIOCore

/// Blocks of a trace on their way into a file. Small data is copied into one buffer. The data of a large
/// packet stays where it is and is kept alive, and the writer gathers the pieces.
package struct TraceBlocks {
    /// All bytes except those that are lent.
    var copied = ByteBuffer()
    /// The pieces that belong between the copied bytes, in order.
    private var lent: [Loan] = []
    private var lentBytes = 0
    private let lendsData: Bool

    private struct Loan {
        /// The number of copied bytes before it.
        var place: Int
        var bytes: ByteBuffer
    }

    /// For less data, another piece costs the kernel as much as the copy.
    package static let leastLentBytes = 4096

    package init() { lendsData = true }

    /// Copies everything, appending it to these bytes.
    package init(copyingBehind bytes: ByteBuffer) {
        copied = bytes
        lendsData = false
    }

    package var count: Int { copied.readableBytes + lentBytes }

    package mutating func clear() {
        copied.clear()
        lent.removeAll(keepingCapacity: true)
        lentBytes = 0
    }

    /// Appends the data of a packet.
    mutating func append(_ data: ByteBuffer) {
        guard isLent(data) else {
            copied.writeImmutableBuffer(data)
            return
        }
        lent.append(Loan(place: copied.readableBytes, bytes: data))
        lentBytes += data.readableBytes
    }

    func isLent(_ data: ByteBuffer) -> Bool {
        lendsData && data.readableBytes >= Self.leastLentBytes
    }

    /// Has `body` append to a buffer, copying everything.
    static func appending(to buffer: inout ByteBuffer, _ body: (inout TraceBlocks) -> Void) {
        var blocks = TraceBlocks(copyingBehind: buffer)
        // A second reference would cause a copy of the whole buffer.
        buffer = ByteBuffer()
        body(&blocks)
        buffer = blocks.copied
    }

    // MARK: - Reading

    /// The bytes in order, as pieces that are valid until `body` returns.
    package func withUnsafePieces<Result>(
        _ body: ([UnsafeRawBufferPointer]) -> Result
    ) -> Result {
        let copies = Self.memory(of: copied)
        var pieces: [UnsafeRawBufferPointer] = []
        pieces.reserveCapacity(lent.count * 2 + 1)
        var start = 0
        for loan in lent {
            pieces.append(UnsafeRawBufferPointer(rebasing: copies[start..<loan.place]))
            pieces.append(Self.memory(of: loan.bytes))
            start = loan.place
        }
        pieces.append(UnsafeRawBufferPointer(rebasing: copies[start...]))
        return withExtendedLifetime(self) { body(pieces) }
    }

    /// Valid as long as the buffer is kept and not written to.
    private static func memory(of buffer: ByteBuffer) -> UnsafeRawBufferPointer {
        buffer.withUnsafeReadableBytesWithStorageManagement { memory, _ in memory }
    }

    /// All bytes in one buffer.
    package var joined: ByteBuffer {
        var joined = ByteBuffer()
        joined.reserveCapacity(count)
        withUnsafePieces { pieces in
            for piece in pieces { joined.writeBytes(piece) }
        }
        return joined
    }

    /// The size of the blocks that are whole within the first `limit` bytes. In each block, the length
    /// follows the type.
    package func bytesOfWholeBlocks(within limit: Int) -> Int {
        let blocks = joined
        var end = 0
        while let length = blocks.getInteger(at: end + 4, endianness: .little, as: UInt32.self),
            length > 0, end + Int(length) <= limit
        {
            end += Int(length)
        }
        return end
    }
}
