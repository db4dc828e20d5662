import NIOCore

/// Units on their way to a channel. Units that are adjacent in the buffer they were read from leave as one
/// write, because for a small unit the write costs more than everything else.
struct WriteRun {
    private var bytes: ByteBuffer?

    /// Bytes added and not taken yet.
    var count: Int { bytes?.readableBytes ?? 0 }

    /// Adds a whole unit.
    ///
    /// - Returns: What has to be written now, because the unit does not follow it in memory.
    @inline(__always)
    mutating func add(_ unit: ByteBuffer) -> ByteBuffer? {
        if bytes?.grow(over: unit) == true { return nil }
        let before = bytes
        bytes = unit
        return before
    }

    /// Returns what is left to write, at a flush.
    mutating func take() -> ByteBuffer? { bytes.take() }
}

extension ByteBuffer {
    /// Adds the bytes that follow directly in the same storage, without a copy.
    ///
    /// - Returns: Whether `next` follows.
    @inline(__always)
    fileprivate mutating func grow(over next: ByteBuffer) -> Bool {
        guard writerIndex == next.readerIndex, next.writerIndex <= capacity, place == next.place
        else { return false }
        moveWriterIndex(to: next.writerIndex)
        return true
    }

    /// The address of index 0 in memory. Two live buffers have the same address only if they share storage.
    private var place: UnsafeRawPointer? {
        withVeryUnsafeBytes { $0.baseAddress }
    }
}
