import NIOCore

/// Takes the units of an H.264 stream out of RTP packets: single units, STAP-A and FU-A (RFC 6184,
/// sections 5.6 to 5.8).
package struct RTPDepacketiser: Sendable {
    /// The units of a packet.
    package struct Units: Hashable, Sendable {
        package var units: [NALUnit] = []
        /// Whether the picture ends with these units.
        package var isEnd = false
    }

    /// The fragments of the unit that is being assembled, with its header; nil without one.
    private var fragments: ByteBuffer?
    /// The timestamp of its packets.
    private var timestamp: UInt32 = 0
    /// Whether to skip further fragments of a dropped unit without reporting a fault.
    private var skipsFragments = false
    private var last: UInt16?

    private static let aggregation: UInt8 = 24
    private static let fragmentation: UInt8 = 28

    package init() {}

    /// Whether a unit is incomplete.
    package var isInUnit: Bool { fragments != nil }
    /// Bytes of the incomplete unit.
    package var heldBytes: Int { fragments?.readableBytes ?? 0 }

    /// The loss before a packet; to be called once for each packet, before it is received. A loss drops the
    /// unit begun; the packet itself may be good.
    package mutating func loss(before packet: RTPPacket) -> RTPFault? {
        let previous = last
        last = packet.sequence
        if let previous, packet.sequence != previous &+ 1 {
            giveUp()
            return .missing(from: previous, to: packet.sequence)
        }
        if fragments != nil, !goesOn(with: packet) {
            giveUp()
            return .noEnd
        }
        return nil
    }

    private mutating func giveUp() { (fragments, skipsFragments) = (nil, true) }

    /// Whether the packet may continue the unit begun.
    private func goesOn(with packet: RTPPacket) -> Bool {
        let payload = packet.payload
        guard let indicator = payload.getInteger(at: payload.readerIndex, as: UInt8.self)
        else { return true }
        let header = payload.getInteger(at: payload.readerIndex + 1, as: UInt8.self) ?? 0
        return indicator & 0b11111 == Self.fragmentation && header & 0x80 == 0
            && packet.timestamp == timestamp
    }

    /// - Throws: `RTPFault` when the packet is faulty; the unit begun is then lost. Later packets can be
    ///   read.
    package mutating func receive(_ packet: RTPPacket) throws(RTPFault) -> Units {
        guard let header = packet.payload.getInteger(at: packet.payload.readerIndex, as: UInt8.self)
        else {
            // Some senders keep a connection alive with empty packets.
            return Units()
        }
        let type = header & 0b11111
        if type == Self.fragmentation { return try fragment(packet, header) }
        skipsFragments = false
        if type == Self.aggregation { return try aggregate(packet) }
        return Units(units: [try unit(packet.payload)], isEnd: packet.isMarked)
    }

    /// Drops the unit begun, because packets are missing here.
    package mutating func discard() {
        giveUp()
        last = nil
    }

    private func unit(_ bytes: ByteBuffer) throws(RTPFault) -> NALUnit {
        guard let unit = NALUnit(bytes) else { throw .noUnit }
        guard (1...23).contains(unit.type) else { throw .type(unit.type) }
        return unit
    }

    private func aggregate(_ packet: RTPPacket) throws(RTPFault) -> Units {
        var rest = packet.payload
        rest.moveReaderIndex(forwardBy: 1)
        var found = Units(isEnd: packet.isMarked)
        while let length = rest.readInteger(as: UInt16.self).map(Int.init) {
            guard let bytes = rest.readSlice(length: length) else {
                throw .unitTooLong(length, of: rest.readableBytes)
            }
            found.units.append(try unit(bytes))
        }
        guard !found.units.isEmpty, rest.readableBytes == 0 else { throw .noUnit }
        return found
    }

    private mutating func fragment(
        _ packet: RTPPacket, _ indicator: UInt8
    ) throws(RTPFault) -> Units {
        var payload = packet.payload
        payload.moveReaderIndex(forwardBy: 1)
        guard let header = payload.readInteger(as: UInt8.self) else {
            giveUp()
            throw .noUnit
        }
        let (isStart, isEnd) = (header & 0x80 != 0, header & 0x40 != 0)
        if isStart {
            var bytes = ByteBuffer()
            bytes.writeInteger(indicator & 0b1110_0000 | header & 0b0001_1111)
            (fragments, skipsFragments, timestamp) = (bytes, false, packet.timestamp)
        }
        guard var bytes = fragments else {
            let isKnown = skipsFragments
            skipsFragments = !isEnd
            if isKnown { return Units() }
            throw .noBeginning
        }
        fragments = nil
        guard bytes.readableBytes + payload.readableBytes <= MediaLimits.maximumUnitBytes else {
            skipsFragments = !isEnd
            throw .oversized
        }
        bytes.writeImmutableBuffer(payload)
        guard isEnd else {
            fragments = bytes
            return Units()
        }
        // Only the last fragment ends the picture: the marker may be on every fragment.
        return Units(units: [try unit(bytes)], isEnd: packet.isMarked)
    }
}
