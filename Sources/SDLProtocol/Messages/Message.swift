public import NIOCore

/// A payload made whole from one single frame, or from a first frame and its consecutive frames.
/// Made by `MessageAssembler`, read by `RPCMessage`.
public struct Message: Hashable, Sendable {
    /// Protocol version of its frames.
    public var version: UInt8
    public var service: ServiceType
    public var sessionID: UInt8
    /// Nil in v1, whose frames carry none.
    public var messageID: UInt32?
    /// At least one frame's payload is a TLS record, so the message cannot be read.
    public var isEncrypted: Bool
    /// The bytes that were kept: all, unless `isTruncated`. For a single frame, a slice of it.
    public var payload: ByteBuffer
    /// Bytes of the whole message, as they arrived.
    public var payloadBytes: Int
    /// Frames it arrived in, the first frame included.
    public var frames: Int

    /// Only the beginning was kept, because the message is larger than the assembler may keep,
    /// encrypted, or its rest never arrived.
    public var isTruncated: Bool { payload.readableBytes < payloadBytes }

    public init(
        version: UInt8, service: ServiceType, sessionID: UInt8, messageID: UInt32?,
        isEncrypted: Bool = false, payload: ByteBuffer, payloadBytes: Int? = nil, frames: Int = 1
    ) {
        self.version = version
        self.service = service
        self.sessionID = sessionID
        self.messageID = messageID
        self.isEncrypted = isEncrypted
        self.payload = payload
        self.payloadBytes = payloadBytes ?? payload.readableBytes
        self.frames = frames
    }

    /// The message of a single frame; shares the frame's bytes.
    public init(single frame: Frame) {
        self.init(
            version: frame.version, service: frame.service, sessionID: frame.sessionID,
            messageID: frame.messageID, isEncrypted: frame.isEncrypted, payload: frame.payload)
    }
}
