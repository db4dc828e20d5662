// Frames by their meaning, for tests that read as dialogues.

package import NIOCore
package import SDLProtocol

extension Frame {
    /// An app's first frame: StartService of the RPC service for a new session.
    package static func startService(headerVersion: UInt8 = 1) -> Frame {
        let document: BSONDocument = [ControlKey.protocolVersion: .string("5.4.0")]
        return Frame(
            version: headerVersion, type: .control, service: .rpc,
            info: ControlFrameType.startService.rawValue, sessionID: 0, payload: document.bytes)
    }

    /// A head unit's grant in v5.
    package static func startServiceACK(
        session: UInt8, hashID: UInt32? = nil, extra: [(String, BSONValue)] = []
    ) -> Frame {
        var document: BSONDocument = [
            ControlKey.hashID: .int32(Int32(bitPattern: hashID ?? UInt32(session) << 16 | 5)),
            ControlKey.mtu: .int64(131_072),
            ControlKey.protocolVersion: .string("5.4.0"),
        ]
        for (key, value) in extra { document[key] = value }
        return control(.startServiceACK, session: session, payload: document.bytes)
    }

    /// sdl_core's refusal of a first StartService: a v1 header and nothing else.
    package static func startServiceNAK() -> Frame {
        Frame(
            version: 1, type: .control, service: .rpc,
            info: ControlFrameType.startServiceNAK.rawValue, sessionID: 0)
    }

    /// Any v5 control frame.
    package static func control(
        _ type: ControlFrameType, service: ServiceType = .rpc, session: UInt8,
        messageID: UInt32 = 0, payload: ByteBuffer = ByteBuffer()
    ) -> Frame {
        Frame(
            version: 5, type: .control, service: service, info: type.rawValue,
            sessionID: session, messageID: messageID, payload: payload)
    }

    /// A v5 RPC; the text tells frames apart.
    package static func rpc(
        session: UInt8, message: UInt32 = 1, _ type: RPCType = .request,
        _ function: FunctionID = .show, correlation: Int32 = 1, json: String = "{}"
    ) -> Frame {
        .rpc(
            version: 5, sessionID: session, messageID: message, type: type,
            functionID: function.rawValue, correlationID: correlation, json: json)
    }

    /// A v5 single frame of `bytes` payload bytes, all with one value.
    package static func data(
        session: UInt8, service: ServiceType = .bulk, message: UInt32 = 1, bytes: Int,
        filledWith byte: UInt8 = 0x5A
    ) -> Frame {
        Frame(
            version: 5, type: .single, service: service, sessionID: session, messageID: message,
            payload: ByteBuffer(repeating: byte, count: bytes))
    }
}

extension Frame {
    /// A v5 message in several frames: the first and `frames` consecutive ones of `bytes` payload
    /// bytes each (SDL protocol spec, "Multi-frame messages").
    package static func message(
        session: UInt8, service: ServiceType, message: UInt32, frames count: Int, bytes: Int
    ) -> [Frame] {
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(count * bytes))
        announcement.writeInteger(UInt32(count))
        let payload = ByteBuffer(repeating: 0x5A, count: bytes)
        let first = Frame(
            version: 5, type: .first, service: service, sessionID: session, messageID: message,
            payload: announcement)
        return [first]
            + (1...count).map { number in
                Frame(
                    version: 5, type: .consecutive, service: service,
                    info: number == count ? 0 : UInt8((number - 1) % 255 + 1), sessionID: session,
                    messageID: message, payload: payload)
            }
    }
}

extension Frame {
    /// The head unit's answer SUCCESS to this request of v2 or later; nil for any other frame.
    package var success: Frame? {
        guard type == .single, version > 1, let header = RPCHeader(payload),
            header.type == .request
        else { return nil }
        return .rpc(
            version: version, sessionID: sessionID, messageID: messageID ?? 0, type: .response,
            functionID: header.functionID, correlationID: header.correlationID,
            json: #"{"success":true,"resultCode":"SUCCESS"}"#)
    }
}
