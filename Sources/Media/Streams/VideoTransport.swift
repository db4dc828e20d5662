import NIOCore

/// How H.264 is packed when nothing announces it.
enum VideoTransport: Hashable, Sendable {
    /// With start codes.
    case raw
    /// In packets preceded by their lengths.
    case rtp

    /// The number of bytes that is enough to tell: a length, the shortest header and the header of a unit.
    static let tellingBytes = 2 + 12 + 1

    /// The transport that these first bytes of a message indicate.
    ///
    /// - Returns: Nil when they indicate none: they must begin with a start code, or be packets with the
    ///   lengths, versions and types of an H.264 sender.
    static func told(by start: ByteBuffer) -> VideoTransport? {
        let zeros = start.readableBytesView.prefix { $0 == 0 }.count
        if zeros >= 2 {
            let next: UInt8? = start.getInteger(at: start.readerIndex + zeros)
            if next == 1 { return .raw }
        }
        var rest = start
        var packets = 0
        // Checks as many packets as are visible; each has some bytes, so this ends.
        while rest.readableBytes >= tellingBytes {
            guard let length = packetLength(rest) else { return nil }
            packets += 1
            rest.moveReaderIndex(forwardBy: min(2 + length, rest.readableBytes))
        }
        return packets > 0 ? .rtp : nil
    }

    /// - Returns: Nil when the bytes are not a packet of H.264.
    private static func packetLength(_ bytes: ByteBuffer) -> Int? {
        let start = bytes.readerIndex
        guard let length = bytes.getInteger(at: start, as: UInt16.self).map(Int.init),
            let first = bytes.getInteger(at: start + 2, as: UInt8.self),
            let second = bytes.getInteger(at: start + 3, as: UInt8.self),
            // The shortest header and one byte; version 2.
            length > 12, first >> 6 == 2,
            // Types without a fixed meaning (RFC 3551, section 6); H.264 has no fixed type.
            second & 0x7F >= 96
        else { return nil }
        // With nothing before it, the unit can be checked: the types of modes 0 and 1.
        guard first & 0b11_1111 == 0,
            let header = bytes.getInteger(at: start + 14, as: UInt8.self)
        else { return length }
        let type = header & 0b11111
        return header & 0x80 == 0 && ((1...24).contains(type) || type == 28) ? length : nil
    }
}
