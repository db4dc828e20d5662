package import NIOCore

/// The parts of an RTP packet that matter here (RFC 3550, section 5.1). The payload type is the sender's
/// choice and carries no information.
package struct RTPPacket: Hashable, Sendable {
    package var sequence: UInt16
    /// In units of a 90 kHz clock; the same for all packets of a picture.
    package var timestamp: UInt32
    /// On the last packet of a picture; some senders set it on all fragments of the last unit.
    package var isMarked: Bool
    package var payload: ByteBuffer

    private static let headerBytes = 12

    /// - Throws: `RTPFault` where the bytes are not a packet.
    package init(_ bytes: ByteBuffer) throws(RTPFault) {
        let start = bytes.readerIndex
        guard bytes.readableBytes >= Self.headerBytes,
            let first = bytes.getInteger(at: start, as: UInt8.self),
            let second = bytes.getInteger(at: start + 1, as: UInt8.self),
            let sequence = bytes.getInteger(at: start + 2, as: UInt16.self),
            let timestamp = bytes.getInteger(at: start + 4, as: UInt32.self)
        else { throw .tooShort(bytes: bytes.readableBytes) }
        guard first >> 6 == 2 else { throw .version(first >> 6) }
        var payload = bytes
        // Contributing sources, four bytes each.
        payload.moveReaderIndex(forwardBy: Self.headerBytes)
        guard payload.readSlice(length: Int(first & 0b1111) * 4) != nil else {
            throw .tooShort(bytes: bytes.readableBytes)
        }
        if first & 0b1_0000 != 0 {
            guard payload.readInteger(as: UInt16.self) != nil,
                let words = payload.readInteger(as: UInt16.self),
                payload.readSlice(length: Int(words) * 4) != nil
            else { throw .tooShort(bytes: bytes.readableBytes) }
        }
        if first & 0b10_0000 != 0 {
            // The last byte is the number of padding bytes, including itself.
            let padding = payload.readableBytesView.last.map(Int.init) ?? 0
            guard padding > 0, padding <= payload.readableBytes else {
                throw .padding(padding, of: payload.readableBytes)
            }
            payload.moveWriterIndex(to: payload.writerIndex - padding)
        }
        (self.sequence, self.timestamp) = (sequence, timestamp)
        isMarked = second & 0x80 != 0
        self.payload = payload
    }
}

/// A fault of a packet.
package enum RTPFault: Error, Hashable, Sendable {
    case tooShort(bytes: Int)
    case version(UInt8)
    case padding(Int, of: Int)
    case noUnit
    /// A unit in an aggregation packet is longer than the rest of the packet.
    case unitTooLong(Int, of: Int)
    /// A fragment of a unit whose beginning did not come.
    case noBeginning
    /// Another packet came before the last fragment of a unit.
    case noEnd
    /// A unit with too many or too long fragments.
    case oversized
    /// Packets are missing between two.
    case missing(from: UInt16, to: UInt16)
    /// A type that RFC 6184 defines, but not for packetization modes 0 and 1.
    case type(UInt8)
}

extension RTPFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooShort(let bytes): "a packet of \(bytes) bytes, which its header does not fit into"
        case .version(let version): "a packet of RTP version \(version), expected 2"
        case .padding(let padding, let bytes):
            "a packet with \(padding) of \(bytes) bytes of padding"
        case .noUnit: "a packet without a unit"
        case .unitTooLong(let length, let bytes):
            "a unit of \(length) bytes in a packet with \(bytes) bytes left"
        case .noBeginning: "a fragment of a unit that did not begin"
        case .noEnd: "a unit without its last fragment"
        case .oversized:
            "a unit of more than \(MediaLimits.maximumUnitBytes) bytes"
        case .missing(let last, let next): "packet \(next) behind \(last)"
        case .type(let type): "a unit of type \(type), expected 1 to 24 or 28"
        }
    }
}
