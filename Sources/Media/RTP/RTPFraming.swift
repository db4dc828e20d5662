package import NIOCore

/// Cuts a byte stream into RTP packets, each preceded by its length in two bytes (RFC 4571, section 2).
package struct RTPFraming: Sendable {
    private var buffer = ByteBuffer()

    package init() {}

    /// Bytes of the incomplete packet.
    package var heldBytes: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        buffer.discardReadAndSpareBytes()
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next whole packet, without its length; at most 65,535 bytes.
    package mutating func next() -> ByteBuffer? {
        buffer.readLengthPrefixedSlice(as: UInt16.self)
    }

    /// Drops the incomplete packet. The caller must then know where the next one begins.
    package mutating func discard() { buffer = ByteBuffer() }
}
