package import NIOCore
import SDLProtocol

/// The buffer a channel reads into. It grows and shrinks with the size of the reads.
enum ReadBuffer {
    /// The largest frame is 128 KB: with a smaller buffer, each such frame straddles two reads and has to be
    /// copied; and the more frames a read brings, the fewer straddle its end.
    static let maximumBytes = 256 << 10
    /// A channel keeps one buffer for each read that it may make in a row. With one buffer, a streaming
    /// connection costs no more memory than with NIO's four buffers of 64 KB.
    static let readsInRow: UInt = 1

    static var allocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: maximumBytes)
    }

    /// For channels that were made elsewhere. Channels that do not know the options stay as they are.
    static func adopt(_ channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        try? options.setOption(.recvAllocator, value: allocator)
        try? options.setOption(.maxMessagesPerRead, value: readsInRow)
    }
}

extension ByteBuffer {
    /// These bytes for long-term keeping: copied into storage of their own unless they take up a good part of
    /// the storage they share. A frame of 100 B would keep a read buffer of 256 KiB alive, and limits count
    /// the bytes of frames.
    @inline(never)
    package var keptCheaply: ByteBuffer {
        guard readableBytes * Self.mostStoragePerByte < storageCapacity else { return self }
        var copy = ByteBuffer()
        copy.reserveCapacity(readableBytes)
        copy.writeImmutableBuffer(self)
        return copy
    }

    /// Bytes of storage that each kept byte may occupy.
    static var mostStoragePerByte: Int { 4 }
}

extension Frame {
    /// This frame for long-term keeping.
    var keptCheaply: Frame { Frame(checked: wire.keptCheaply) }
}
