// The strict header check: which twelve bytes may be the start of a frame, and why others are not.

import NIOCore

/// The header's layout (SDL protocol spec, "Frame header").
public enum FrameHeader {
    /// Enough bytes to check every field but the message ID.
    public static let minimumBytes = 8
    /// Header bytes of a version: 8 in v1, which has no message ID, else 12.
    @inlinable
    public static func bytes(version: UInt8) -> Int { version == 1 ? 8 : 12 }
}

/// How strictly a stream's headers are checked: the union of what sdl_core and the app libraries
/// insist on in any header. What depends on the session, its mtu and the size of its control frames,
/// is checked where the session is known.
///
/// A head unit ends **every** session of a link after ten malformed frames in a second, so a frame
/// from an app has to meet all rules before it may share the link.
public struct FrameRules: Hashable, Sendable {
    /// Most payload bytes of a v3…v5 frame.
    public var maximumPayloadBytes: Int
    /// Accept what real head units send although no app may: info ≠ 0 on single and first frames,
    /// encrypted first frames (sdl_core#3659, #3717).
    public var toleratesHeadUnitQuirks: Bool
    /// Accept message ID 0 on data frames. sdl_core 8.2.0 gives it to whatever it still sends on a
    /// session that it has ended, mostly a whole answer in a single frame, and truncates the IDs of
    /// multi-frame messages to 8 bits.
    public var toleratesMessageIDZero: Bool

    /// 131,072 B of payload and a 12 B header is the largest frame of v3…v5; head units and
    /// libraries disagree on whether the MTU counts the header, so one header and a little more
    /// is allowed on top.
    public static let defaultMaximumPayloadBytes = 131_100
    /// v1 and v2 frames are at most 1500 B (SDL protocol spec, "MTU"); sdl_core counts any payload
    /// above 1488 B as malformed, also in v1, whose shorter header would leave room for 1492 B.
    static let maximumPayloadBytesV2 = 1488
    static let maximumPayloadBytesV1 = 1492

    public static func fromApp(
        maximumPayloadBytes: Int = FrameRules.defaultMaximumPayloadBytes
    ) -> Self {
        Self(
            maximumPayloadBytes: maximumPayloadBytes, toleratesHeadUnitQuirks: false,
            toleratesMessageIDZero: false)
    }

    public static func fromAccessory(
        maximumPayloadBytes: Int = FrameRules.defaultMaximumPayloadBytes
    ) -> Self {
        Self(
            maximumPayloadBytes: maximumPayloadBytes, toleratesHeadUnitQuirks: true,
            toleratesMessageIDZero: true)
    }

    /// For a head unit's bytes among which frames have been lost: a candidate must be beyond doubt,
    /// so the rare quirks count against it, but not message ID 0, which is common.
    static func searching(maximumPayloadBytes: Int) -> Self {
        Self(
            maximumPayloadBytes: maximumPayloadBytes, toleratesHeadUnitQuirks: false,
            toleratesMessageIDZero: true)
    }

    /// Bytes of the whole frame that starts at `index`, nil when more bytes are needed to tell.
    ///
    /// Looks at as many bytes as there are, so that garbage is found at its first byte.
    func frameBytes(in buffer: ByteBuffer, at index: Int) throws(FrameError) -> Int? {
        try measure(buffer, at: index)?.bytes
    }

    /// The same, with the frame's first eight bytes.
    @inline(__always)
    func measure(
        _ buffer: ByteBuffer, at index: Int
    ) throws(FrameError) -> (bytes: Int, head: UInt64)? {
        let available = buffer.writerIndex - index
        guard available >= FrameHeader.minimumBytes,
            let head = buffer.getInteger(at: index, as: UInt64.self)
        else {
            try checkFragment(buffer, at: index, available: available)
            return nil
        }
        let fields = UInt32(truncatingIfNeeded: head >> 32)
        let size = UInt32(truncatingIfNeeded: head)
        let version = UInt8(truncatingIfNeeded: fields >> 28)
        let header = FrameHeader.bytes(version: version)
        try check(fields: fields, size: size)
        guard available >= header else { return nil }
        if version > 1, buffer.getInteger(at: index + 8, as: UInt32.self) == 0 {
            try checkZeroMessageID(type: UInt8(truncatingIfNeeded: fields >> 24) & 0b111)
        }
        return (header + Int(size), head)
    }

    /// Checks header bytes 0…7; `fields` are bytes 0…3 big-endian.
    @inline(__always)
    private func check(fields: UInt32, size: UInt32) throws(FrameError) {
        let type = UInt8(truncatingIfNeeded: fields >> 24) & 0b111
        let service = UInt8(truncatingIfNeeded: fields >> 16)
        // First byte and service come first, as in `checkFragment`.
        try checkFirstByte(UInt8(truncatingIfNeeded: fields >> 24))
        guard let service = ServiceType(rawValue: service) else {
            throw .unknownService(service)
        }
        let info = UInt8(truncatingIfNeeded: fields >> 8)
        let session = UInt8(truncatingIfNeeded: fields)
        let version = UInt8(truncatingIfNeeded: fields >> 28)
        let limit = maximumPayloadBytes(version: version)
        guard Int(size) <= limit else { throw .tooLarge(bytes: Int(size), limit: limit) }
        switch FrameType(rawValue: type) {
        case .control: try checkControl(service: service, info: info, session: session)
        case .single:
            guard size > 0 else { throw .empty }
            guard info == 0 || toleratesHeadUnitQuirks else { throw .unexpectedInfo(info) }
        case .first:
            let isEncrypted = fields & 0x0800_0000 != 0
            guard !isEncrypted || toleratesHeadUnitQuirks else { throw .encryptedFirstFrame }
            guard size == 8 || (isEncrypted && size > 0) else {
                throw .firstFrameSize(Int(size))
            }
            guard info == 0 || toleratesHeadUnitQuirks else { throw .unexpectedInfo(info) }
        case .consecutive:
            guard size > 0 else { throw .empty }
        case nil: throw .reservedFrameType(type)
        }
        if session == 0, type != 0, service != .control { throw .sessionZero }
    }

    @inline(__always)
    private func maximumPayloadBytes(version: UInt8) -> Int {
        if version >= 3 { return maximumPayloadBytes }
        return version == 1 && toleratesHeadUnitQuirks
            ? Self.maximumPayloadBytesV1 : Self.maximumPayloadBytesV2
    }

    @inline(__always)
    private func checkFirstByte(_ byte: UInt8) throws(FrameError) {
        let version = byte >> 4
        guard version >= 1, version <= 5 else { throw .reservedVersion(version) }
        guard byte & 0b111 <= 3 else { throw .reservedFrameType(byte & 0b111) }
        // In v1 the bit is called compression and was never used.
        guard version > 1 || byte & 0b1000 == 0 else { throw .compressed }
    }

    private func checkControl(
        service: ServiceType, info: UInt8, session: UInt8
    ) throws(FrameError) {
        guard let type = ControlFrameType(rawValue: info) else { throw .unknownControlFrame(info) }
        guard session == 0, service != .control else { return }
        switch type {
        case .startService, .startServiceNAK: return
        default: throw .sessionZero
        }
    }

    /// Control frames carry any message ID (SDL protocol spec, "Message ID").
    @inline(never)
    private func checkZeroMessageID(type: UInt8) throws(FrameError) {
        guard toleratesMessageIDZero || type == FrameType.control.rawValue else {
            throw .messageIDZero
        }
    }

    /// Checks what can be told from fewer bytes than a header, so that a wrong peer that waits
    /// for an answer after a few bytes is found out at once.
    private func checkFragment(
        _ buffer: ByteBuffer, at index: Int, available: Int
    ) throws(FrameError) {
        guard let first = buffer.getInteger(at: index, as: UInt8.self), available > 0 else {
            return
        }
        try checkFirstByte(first)
        guard available > 1, let second = buffer.getInteger(at: index + 1, as: UInt8.self) else {
            return
        }
        guard ServiceType(rawValue: second) != nil else { throw .unknownService(second) }
    }
}
