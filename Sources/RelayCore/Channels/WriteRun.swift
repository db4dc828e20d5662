import NIOCore

/// Units on their way to a channel. Units that are adjacent in the buffer they were read from leave as one
/// write, because for a small unit the write costs more than everything else.
struct WriteRun {
    private var bytes: ByteBuffer?

    /// Bytes added and not taken yet.
    var count: Int { bytes?.readableBytes ?? 0 }

    /// Adds a whole unit.
    ///
    /// - Returns: What has to be written now, because the unit does not lie behind it.
    @inline(__always)
    mutating func add(_ unit: ByteBuffer) -> ByteBuffer? {
        if bytes?.grow(over: unit) == true { return nil }
        let before = bytes
        bytes = unit
        return before
    }

    /// What is left to write, at a flush.
    mutating func take() -> ByteBuffer? { bytes.take() }
}

extension ByteBuffer {
    /// Adds what lies right behind in the same storage, without a copy.
    ///
    /// - Returns: Whether it does.
    @inline(__always)
    fileprivate mutating func grow(over next: ByteBuffer) -> Bool {
        guard writerIndex == next.readerIndex, next.writerIndex <= capacity, place == next.place
        else { return false }
        moveWriterIndex(to: next.writerIndex)
        return true
    }

    /// Where its index 0 is in memory. Two buffers that are alive have the same only if they share it.
    private var place: UnsafeRawPointer? {
        withVeryUnsafeBytes { $0.baseAddress }
    }
}
