// The reverse of `MessageAssembler`: splits a message into the frames that it travels in.

public import NIOCore

extension Frame {
    /// A message in one frame if it fits, else in a first and consecutive frames (SDL protocol spec,
    /// "Multi-frame messages").
    ///
    /// - Parameters:
    ///   - payload: Not empty.
    ///   - limit: Bytes that a frame's payload may have.
    public static func message(
        version: UInt8, service: ServiceType = .rpc, sessionID: UInt8, messageID: UInt32,
        payload: ByteBuffer, limit: Int
    ) -> [Frame] {
        let limit = max(limit, RPCHeader.bytes)
        guard payload.readableBytes > limit else {
            return [
                Frame(
                    version: version, type: .single, service: service, sessionID: sessionID,
                    messageID: messageID, payload: payload)
            ]
        }
        let bytes = payload.readableBytes
        let count = bytes / limit + (bytes % limit == 0 ? 0 : 1)
        var sizes = ByteBuffer()
        sizes.writeInteger(UInt32(clamping: bytes))
        sizes.writeInteger(UInt32(clamping: count))
        var frames = [
            Frame(
                version: version, type: .first, service: service, sessionID: sessionID,
                messageID: messageID, payload: sizes)
        ]
        var rest = payload
        var info: UInt8 = 0
        while rest.readableBytes > 0 {
            let size = min(limit, rest.readableBytes)
            let piece = rest.readSlice(length: size) ?? ByteBuffer()
            // 1…255, then 1 again; the last one has 0.
            info = rest.readableBytes == 0 ? 0 : info == 255 ? 1 : info + 1
            frames.append(
                Frame(
                    version: version, type: .consecutive, service: service, info: info,
                    sessionID: sessionID, messageID: messageID, payload: piece))
        }
        return frames
    }

    /// The same frame with another correlation ID; for a frame that begins with the header of an RPC.
    public func withCorrelationID(_ correlationID: Int32) -> Frame {
        var payload = payload
        guard payload.readableBytes >= RPCHeader.bytes else { return self }
        payload.setInteger(correlationID, at: payload.readerIndex + 4)
        return Frame(
            version: version, isEncrypted: isEncrypted, type: type, service: service, info: info,
            sessionID: sessionID, messageID: messageID ?? 0, payload: payload)
    }
}
