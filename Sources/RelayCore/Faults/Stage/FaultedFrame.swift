// What fault rules make of frames: whole frames out of whole frames.

import NIOCore
import SDLProtocol

extension Frame {
    /// The frame with some bytes of the payload changed, but not those of the RPC header: it still says what
    /// it is.
    ///
    /// - Parameter hasHeader: Whether the payload begins with the RPC header, if there is one.
    /// - Returns: Nil when there is nothing to change.
    func corrupted(_ dice: inout FaultDice, hasHeader: Bool) -> Frame? {
        let isRPC = hasHeader && service.carriesRPC && version > 1 && !isEncrypted
        let kept = isRPC ? RPCHeader.bytes : 0
        let first = wire.readerIndex + headerBytes + kept
        guard payloadBytes > kept, first < wire.writerIndex else { return nil }
        // In storage of its own.
        var changed = ByteBuffer(bytes: wire.readableBytesView)
        let offset = headerBytes + kept
        let range = changed.readerIndex + offset..<changed.writerIndex
        for place in Self.places(in: range, &dice) {
            let byte = changed.getInteger(at: place, as: UInt8.self) ?? 0
            changed.setInteger(byte ^ UInt8.random(in: 1...255, using: &dice), at: place)
        }
        return Frame(checked: changed)
    }

    /// Each place at most once, so that no change undoes another.
    private static func places(in range: Range<Int>, _ dice: inout FaultDice) -> Set<Int> {
        var places: Set<Int> = []
        for _ in 0..<mostChangedBytes { places.insert(Int.random(in: range, using: &dice)) }
        return places
    }

    private static var mostChangedBytes: Int { 4 }

    /// The frame without the second half of its payload; the header gives the new size.
    ///
    /// - Returns: Nil when the payload has at most one byte.
    var truncated: Frame? {
        guard payloadBytes > 1 else { return nil }
        let kept = payloadBytes / 2
        var cut = ByteBuffer(bytes: wire.readableBytesView.prefix(headerBytes + kept))
        cut.setInteger(UInt32(clamping: kept), at: cut.readerIndex + 4)
        return Frame(checked: cut)
    }

    /// relayd's answer to a request, given its frame or the last frame of a long one.
    ///
    /// - Parameter header: The RPC header of the request.
    static func faultAnswer(
        to header: RPCHeader, in request: Frame, code: String, info: String?, messageID: UInt32
    ) -> Frame {
        let isSuccess = ["SUCCESS", "WARNINGS", "WRONG_LANGUAGE", "RESUME_FAILED", "SAVED"]
            .contains(code)
        var json = "{\"success\":\(isSuccess),\"resultCode\":\"\(code)\""
        if let info { json += ",\"info\":\(PrintableText.jsonString(info))" }
        json += "}"
        return .rpc(
            version: request.version, sessionID: request.sessionID, messageID: messageID,
            type: .response, functionID: header.functionID,
            correlationID: header.correlationID, json: json)
    }
}
