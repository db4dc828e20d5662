package import NIOCore

/// Cuts a byte stream into RTP packets, each behind its length in two bytes (RFC 4571, section 2).
package struct RTPFraming: Sendable {
    private var buffer = ByteBuffer()

    package init() {}

    /// Bytes of the packet that is not whole.
    package var heldBytes: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        buffer.discardReadAndSpareBytes()
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next whole packet, without its length; at most 65,535 bytes.
    package mutating func next() -> ByteBuffer? {
        buffer.readLengthPrefixedSlice(as: UInt16.self)
    }

    /// Forgets what was begun. Where the next packet begins is then for the caller to know.
    package mutating func discard() { buffer = ByteBuffer() }
}
