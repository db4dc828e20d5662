// The frames that benchmarks send: RPCs of an exact size, so that decoder and log have work to do.

import NIOCore
import RelayTesting
import SDLProtocol

/// Makes frames beforehand, so that making them costs nothing during a measurement.
enum Traffic {
    /// The size of the headers of a frame and of an RPC.
    static let overheadBytes = 12 + RPCHeader.bytes

    /// A request of exactly `bytes` bytes with JSON only.
    static func request(
        session: UInt8, bytes: Int, message: UInt32 = 1, correlation: Int32 = 1
    ) -> Frame {
        .rpc(
            session: session, message: message, .request, .show, correlation: correlation,
            json: padded(#"{"mainField1":""#, bytes: bytes - overheadBytes))
    }

    /// Its answer, of the same size; a very small one has no room for what an answer must contain.
    static func response(
        session: UInt8, bytes: Int, message: UInt32 = 1, correlation: Int32 = 1
    ) -> Frame {
        .rpc(
            session: session, message: message, .response, .show, correlation: correlation,
            json: padded(
                bytes < 100 ? #"{"info":""# : #"{"success":true,"resultCode":"SUCCESS","info":""#,
                bytes: bytes - overheadBytes))
    }

    /// An upload of exactly `bytes` bytes: short JSON, the rest bulk data.
    static func upload(session: UInt8, bytes: Int, message: UInt32, correlation: Int32) -> Frame {
        bulk(
            session: session, bytes: bytes, message: message, type: .request, function: .putFile,
            correlation: correlation,
            json: #"{"syncFileName":"icon","fileType":"BINARY","persistentFile":false}"#)
    }

    /// What a head unit sends of this size: a notification with a file.
    static func download(session: UInt8, bytes: Int, message: UInt32) -> Frame {
        bulk(
            session: session, bytes: bytes, message: message, type: .notification,
            function: .onSystemRequest, correlation: 0,
            json: #"{"requestType":"PROPRIETARY","fileType":"BINARY"}"#)
    }

    /// Encoded video of exactly `bytes` bytes.
    static func video(session: UInt8, bytes: Int, message: UInt32) -> Frame {
        .data(session: session, service: .video, message: message, bytes: bytes - 12)
    }

    /// An upload of `bytes` bytes of bulk data in a first and consecutive frames of at most
    /// `frameBytes` (SDL protocol spec, "Multiple frame messages").
    static func multiFrameUpload(
        session: UInt8, bytes: Int, frameBytes: Int, message: UInt32, correlation: Int32
    ) -> [Frame] {
        var payload = upload(
            session: session, bytes: bytes, message: message, correlation: correlation
        ).payload
        let chunk = frameBytes - 12
        let count = (payload.readableBytes + chunk - 1) / chunk
        var first = ByteBuffer()
        first.writeInteger(UInt32(payload.readableBytes))
        first.writeInteger(UInt32(count))
        var frames = [
            Frame(
                version: 5, type: .first, service: .bulk, sessionID: session, messageID: message,
                payload: first)
        ]
        for index in 1...count {
            let part = payload.readSlice(length: min(chunk, payload.readableBytes))
            frames.append(
                Frame(
                    version: 5, type: .consecutive, service: .bulk,
                    info: index == count ? 0 : UInt8((index - 1) % 255 + 1), sessionID: session,
                    messageID: message, payload: part ?? ByteBuffer()))
        }
        return frames
    }

    /// Makes another message of the first frame of `wire`, an RPC in v2…v5.
    static func setCorrelation(_ correlation: UInt32, in wire: inout [UInt8]) {
        for index in 0..<4 {
            wire[16 + index] = UInt8(truncatingIfNeeded: correlation >> (24 - 8 * index))
        }
    }

    /// Consecutive frames, as they travel.
    static func wire(_ frames: [Frame]) -> [UInt8] {
        frames.flatMap { $0.wire.readableBytesView }
    }

    /// `beginning` made `bytes` long inside a JSON string and closed.
    private static func padded(_ beginning: String, bytes: Int) -> String {
        beginning + String(repeating: "x", count: max(0, bytes - beginning.utf8.count - 2)) + #""}"#
    }

    private static func bulk(
        session: UInt8, bytes: Int, message: UInt32, type: RPCType, function: FunctionID,
        correlation: Int32, json: String
    ) -> Frame {
        let size = bytes - overheadBytes - json.utf8.count
        guard size > 0 else { return small(session, bytes, message, type, correlation) }
        return .rpc(
            version: 5, service: .bulk, sessionID: session, messageID: message, type: type,
            functionID: function.rawValue, correlationID: correlation, json: json,
            bulk: ByteBuffer(repeating: 0x5A, count: size))
    }

    /// A valid RPC without room for bulk data, padded to its length with spaces after its JSON.
    private static func small(
        _ session: UInt8, _ bytes: Int, _ message: UInt32, _ type: RPCType, _ correlation: Int32
    ) -> Frame {
        let json = type == .request ? #"{"mainField1":"x"}"# : #"{"requestType":"PROPRIETARY"}"#
        let space = String(repeating: " ", count: max(0, bytes - overheadBytes - json.utf8.count))
        return .rpc(
            session: session, message: message, type, type == .request ? .show : .onSystemRequest,
            correlation: correlation, json: json + space)
    }
}
