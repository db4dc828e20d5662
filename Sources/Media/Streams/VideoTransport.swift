import NIOCore

/// How H.264 is packed when nothing says so.
enum VideoTransport: Hashable, Sendable {
    /// With start codes.
    case raw
    /// In packets behind their lengths.
    case rtp

    /// Bytes that are enough to tell: a length, the shortest header and the header of a unit.
    static let tellingBytes = 2 + 12 + 1

    /// What a message says that begins with these bytes.
    ///
    /// - Returns: Nil when it says nothing: a start code has to stand in front, or packets with lengths,
    ///   versions and types that a sender of H.264 gives them.
    static func told(by start: ByteBuffer) -> VideoTransport? {
        let zeros = start.readableBytesView.prefix { $0 == 0 }.count
        if zeros >= 2 {
            let next: UInt8? = start.getInteger(at: start.readerIndex + zeros)
            if next == 1 { return .raw }
        }
        var rest = start
        var packets = 0
        // As many as can be seen; each has some bytes, so this ends.
        while rest.readableBytes >= tellingBytes {
            guard let length = packetLength(rest) else { return nil }
            packets += 1
            rest.moveReaderIndex(forwardBy: min(2 + length, rest.readableBytes))
        }
        return packets > 0 ? .rtp : nil
    }

    /// - Returns: Nil when there is no packet of H.264.
    private static func packetLength(_ bytes: ByteBuffer) -> Int? {
        let start = bytes.readerIndex
        guard let length = bytes.getInteger(at: start, as: UInt16.self).map(Int.init),
            let first = bytes.getInteger(at: start + 2, as: UInt8.self),
            let second = bytes.getInteger(at: start + 3, as: UInt8.self),
            // The shortest header and one byte; version 2.
            length > 12, first >> 6 == 2,
            // Types that have no fixed meaning (RFC 3551, section 6), as H.264 has none.
            second & 0x7F >= 96
        else { return nil }
        // Where nothing comes before it, the unit can be looked at: what modes 0 and 1 have.
        guard first & 0b11_1111 == 0,
            let header = bytes.getInteger(at: start + 14, as: UInt8.self)
        else { return length }
        let type = header & 0b11111
        return header & 0x80 == 0 && ((1...24).contains(type) || type == 28) ? length : nil
    }
}
