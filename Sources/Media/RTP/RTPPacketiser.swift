package import NIOCore

/// Packs access units of H.264 into RTP packets, each preceded by its length, as apps send them with the
/// video protocol RTP (RFC 6184, packetization mode 1; RFC 4571).
package struct RTPPacketiser: Sendable {
    /// The limit of one packet, whose length has 16 bits; larger units are sent in fragments.
    package static let maximumPacketBytes = 65_535
    /// The first payload type that a sender may choose (RFC 3551, table 5).
    private static let payloadType: UInt8 = 96
    private static let headerBytes = 12
    /// FU-A.
    private static let fragment: UInt8 = 28

    private let source: UInt32
    private var sequence: UInt16

    /// - Parameters:
    ///   - source: The synchronization source of the packets.
    ///   - sequence: The number of the first packet.
    package init(source: UInt32, sequence: UInt16 = 0) {
        (self.source, self.sequence) = (source, sequence)
    }

    /// The packets of an access unit in Annex B.
    ///
    /// - Parameter nanoseconds: The time at which the unit is shown, from the beginning of the stream.
    package mutating func packets(of unit: ByteBuffer, at nanoseconds: Int64) -> ByteBuffer {
        var splitter = AnnexBSplitter()
        splitter.append(unit)
        var units: [NALUnit] = []
        while let next = splitter.next() { units.append(next) }
        if let last = splitter.finish() { units.append(last) }
        // A 90 kHz clock (RFC 6184, 8.2.1) that starts again after 13 hours.
        let timestamp = UInt32(truncatingIfNeeded: nanoseconds / 100_000 &* 9)
        var packets = ByteBuffer()
        for (index, unit) in units.enumerated() {
            append(unit.bytes, isLast: index == units.count - 1, timestamp, to: &packets)
        }
        return packets
    }

    private mutating func append(
        _ unit: ByteBuffer, isLast: Bool, _ timestamp: UInt32, to packets: inout ByteBuffer
    ) {
        let room = Self.maximumPacketBytes - Self.headerBytes
        guard unit.readableBytes > room else {
            header(payloadBytes: unit.readableBytes, isMarked: isLast, timestamp, to: &packets)
            packets.writeImmutableBuffer(unit)
            return
        }
        var rest = unit
        guard let type = rest.readInteger(as: UInt8.self) else { return }
        var isFirst = true
        while let piece = rest.readSlice(length: min(room - 2, rest.readableBytes)),
            piece.readableBytes > 0
        {
            let isEnd = rest.readableBytes == 0
            header(
                payloadBytes: piece.readableBytes + 2, isMarked: isLast && isEnd, timestamp,
                to: &packets)
            packets.writeInteger(type & 0b1110_0000 | Self.fragment)
            packets.writeInteger(
                type & 0b1_1111 | (isFirst ? 0b1000_0000 : 0) | (isEnd ? 0b0100_0000 : 0))
            packets.writeImmutableBuffer(piece)
            isFirst = false
        }
    }

    private mutating func header(
        payloadBytes: Int, isMarked: Bool, _ timestamp: UInt32, to packets: inout ByteBuffer
    ) {
        packets.writeInteger(UInt16(clamping: payloadBytes + Self.headerBytes))
        packets.writeInteger(UInt8(0b1000_0000))
        packets.writeInteger(Self.payloadType | (isMarked ? 0b1000_0000 : 0))
        packets.writeInteger(sequence)
        packets.writeInteger(timestamp)
        packets.writeInteger(source)
        sequence &+= 1
    }
}
