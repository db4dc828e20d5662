public import NIOCore

/// One SDL frame exactly as it travels, header included.
///
/// Cut from a stream by `FrameDecoder`, built by `Frame(version:…)`, forwarded by writing `wire`.
/// Passing the frame on copies nothing.
public struct Frame: Hashable, Sendable {
    /// Header and payload; readable bytes are exactly one whole frame.
    public let wire: ByteBuffer
    /// The first eight bytes, big-endian. Kept because a frame's header is read a dozen times on its way, and
    /// each read from the buffer would cost more than what is done with the result.
    @usableFromInline
    let head: UInt64

    /// Wraps bytes that a `FrameDecoder` has found to be one whole, valid frame, or a copy of them or of their
    /// header.
    @inlinable
    public init(checked wire: ByteBuffer) {
        self.wire = wire
        head = wire.getInteger(at: wire.readerIndex) ?? 0
    }

    /// - Parameter head: The first eight bytes of `wire`, big-endian.
    @inlinable
    init(checked wire: ByteBuffer, head: UInt64) {
        self.wire = wire
        self.head = head
    }

    /// Builds a frame. Numbers are big-endian (SDL protocol spec, "Frame header").
    ///
    /// - Parameters:
    ///   - version: Protocol version nibble, 1…5; 1 has an 8-byte header without message ID.
    ///   - info: Header byte 2: control frame type, or sequence number of a consecutive frame.
    public init(
        version: UInt8, isEncrypted: Bool = false, type: FrameType, service: ServiceType,
        info: UInt8 = 0, sessionID: UInt8, messageID: UInt32 = 0, payload: ByteBuffer = ByteBuffer()
    ) {
        precondition((1...5).contains(version), "SDL protocol versions are 1…5, not \(version)")
        var wire = ByteBuffer()
        wire.reserveCapacity(12 + payload.readableBytes)
        wire.writeInteger(version << 4 | (isEncrypted ? 0b1000 : 0) | type.rawValue)
        wire.writeInteger(service.rawValue)
        wire.writeInteger(info)
        wire.writeInteger(sessionID)
        wire.writeInteger(UInt32(payload.readableBytes))
        if version > 1 { wire.writeInteger(messageID) }
        wire.writeImmutableBuffer(payload)
        self.init(checked: wire)
    }

    /// - Parameter offset: 0…7.
    @inlinable
    func byte(_ offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: head >> (56 - 8 * UInt64(offset)))
    }

    /// Protocol version of this frame's header, 1…5.
    @inlinable
    public var version: UInt8 { byte(0) >> 4 }
    /// Payload is a TLS record. In v1 the bit means compression and is never set.
    @inlinable
    public var isEncrypted: Bool { byte(0) & 0b1000 != 0 }
    @inlinable
    public var type: FrameType { FrameType(rawValue: byte(0) & 0b111) ?? .control }
    @inlinable
    public var service: ServiceType { ServiceType(rawValue: byte(1)) ?? .control }
    /// Header byte 2; its meaning depends on `type`.
    @inlinable
    public var info: UInt8 { byte(2) }
    /// The session; 0 only before a session exists.
    @inlinable
    public var sessionID: UInt8 { byte(3) }
    /// Bytes after the header, as the header says; `headerOnly` frames no longer have them.
    @inlinable
    public var payloadBytes: Int { Int(UInt32(truncatingIfNeeded: head)) }
    /// Counts messages of a session, shared by all frames of one message; absent in v1.
    @inlinable
    public var messageID: UInt32? {
        version == 1 ? nil : wire.getInteger(at: wire.readerIndex + 8)
    }
    /// 8 in v1, 12 from v2 on.
    @inlinable
    public var headerBytes: Int { FrameHeader.bytes(version: version) }

    /// The bytes after the header, sharing storage with the frame; none of a `headerOnly` frame.
    @inlinable
    public var payload: ByteBuffer {
        wire.getSlice(at: wire.readerIndex + headerBytes, length: payloadBytes) ?? ByteBuffer()
    }

    /// The header in storage of its own, for users that count frames and read no payloads.
    public var headerOnly: Frame {
        var header = ByteBuffer()
        header.reserveCapacity(headerBytes)
        header.writeBytes(wire.readableBytesView.prefix(headerBytes))
        return Frame(checked: header)
    }

    /// The type of a control frame; nil for other frames.
    @inlinable
    public var controlType: ControlFrameType? {
        type == .control ? ControlFrameType(rawValue: info) : nil
    }
}

extension Frame: CustomStringConvertible {
    /// Header fields in words, for test failures and debug logs; never the payload.
    public var description: String {
        let what = controlType.map(\.name) ?? "\(type)"
        let encrypted = isEncrypted ? " encrypted" : ""
        let message = messageID.map { " message \($0)" } ?? ""
        return "v\(version) \(what)\(encrypted) service \(service.name) session \(sessionID)"
            + "\(message) info \(info) \(payloadBytes) B"
    }
}
