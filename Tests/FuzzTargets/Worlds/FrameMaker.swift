// Whole frames around the fuzzer's bytes: changing bytes at random does not produce a header that fits its
// payload.

import NIOCore
import SDLProtocol

extension Frame {
    /// Frames made from a step's bytes: kind, session and message ID first; the rest is the payload.
    static func made(of step: inout FuzzBytes) -> [Frame] {
        let kind = step.byte()
        let session = step.byte() % 5
        switch kind & 7 {
        case 0: return [control(&step, session, payload: .raw)]
        case 1: return [control(&step, session, payload: .document)]
        case 2, 3: return [rpc(&step, session, version: 2 + kind >> 3 & 3)]
        case 4: return rpc(&step, session, version: 5).inPieces(of: 1 + Int(kind >> 3) * 8)
        case 5:
            // Frames that do not match what the first frame announces.
            var frames = rpc(&step, session, version: 4).inPieces(of: 9)
            frames.remove(at: Int(kind >> 3) % frames.count)
            return frames
        case 6:
            return [
                Frame(
                    version: 1 + kind >> 3 & 3, isEncrypted: kind & 0x80 != 0, type: .single,
                    service: step.one(of: ServiceType.allCases), sessionID: session,
                    messageID: UInt32(step.byte()), payload: ByteBuffer(bytes: step.all()))
            ]
        default:
            return [
                Frame(
                    version: 5, isEncrypted: kind & 0x80 != 0,
                    type: step.one(of: [.first, .consecutive]),
                    service: step.one(of: ServiceType.allCases), info: step.byte(),
                    sessionID: session, messageID: UInt32(step.byte()),
                    payload: ByteBuffer(bytes: step.all()))
            ]
        }
    }

    private enum ControlPayload { case raw, document }

    private static func control(
        _ step: inout FuzzBytes, _ session: UInt8, payload kind: ControlPayload
    ) -> Frame {
        let flags = step.byte()
        let type = step.one(of: ControlFrameType.allCases)
        let service = flags & 1 == 0 ? .rpc : step.one(of: ServiceType.allCases)
        let payload =
            switch kind {
            case .raw: ByteBuffer(bytes: step.all())
            case .document: document(&step).bytes
            }
        return Frame(
            version: flags & 2 == 0 ? 5 : 1 + flags >> 2 % 5, isEncrypted: flags & 0x80 != 0,
            type: .control, service: service, info: type.rawValue, sessionID: session,
            messageID: UInt32(flags >> 4), payload: payload)
    }

    private static let keys = [
        ControlKey.protocolVersion, ControlKey.hashID, ControlKey.mtu, ControlKey.reason,
        ControlKey.width, ControlKey.height, ControlKey.videoProtocol, ControlKey.videoCodec,
        "authToken", "make", "model", "rejectedParams", "audioServiceTransports",
        "videoServiceTransports", "secondaryTransports", "tcpIpAddress", "tcpPort", "success",
    ]

    private static func document(_ step: inout FuzzBytes) -> BSONDocument {
        var document = BSONDocument()
        while !step.isEmpty {
            let key = step.one(of: keys)
            document[key] = value(&step, depth: 0)
        }
        return document
    }

    private static func value(_ step: inout FuzzBytes, depth: Int) -> BSONValue {
        switch step.byte() % (depth < 3 ? 6 : 5) {
        case 0: .int32(Int32(bitPattern: step.number()))
        case 1: .int64(Int64(step.number()) << 32 | Int64(step.number()))
        case 2: .string(step.text(Int(step.byte())))
        case 3: .bool(step.byte() & 1 == 1)
        case 4: .string("5.\(step.byte()).0")
        default: .array((0..<step.byte() % 4).map { _ in value(&step, depth: depth + 1) })
        }
    }

    private static let functions = FunctionID.all.map(\.id.rawValue)

    /// An RPC: type, function and correlation ID in three bytes, then JSON; after a zero byte, bulk data.
    private static func rpc(_ step: inout FuzzBytes, _ session: UInt8, version: UInt8) -> Frame {
        let flags = step.byte()
        let type = RPCType(rawValue: flags & 3) ?? .request
        let function = flags & 4 == 0 ? step.one(of: functions) : step.number()
        let correlation = flags & 8 == 0 ? UInt32(step.byte()) : step.number()
        let parts = step.all().split(separator: 0, maxSplits: 1)
        var payload = ByteBuffer()
        let json = parts.first ?? []
        let claimed = flags & 0x10 == 0 ? json.count : json.count + Int(flags >> 5)
        RPCHeader(
            type: type, functionID: function, correlationID: Int32(bitPattern: correlation),
            jsonBytes: claimed
        ).write(to: &payload)
        payload.writeBytes(json)
        if parts.count > 1 { payload.writeBytes(parts[1]) }
        return Frame(
            version: version, type: .single, service: parts.count > 1 ? .bulk : .rpc,
            sessionID: session, messageID: UInt32(truncatingIfNeeded: correlation) & 0xFF | 1,
            payload: payload)
    }

    /// The same message as a first frame and several consecutive frames.
    private func inPieces(of wanted: Int) -> [Frame] {
        var rest = payload
        // More pieces than this reach nothing new.
        let bytes = max(wanted, payloadBytes / 64 + 1)
        let pieces = max(1, (payloadBytes + bytes - 1) / bytes)
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(payloadBytes))
        announcement.writeInteger(UInt32(pieces))
        let id = messageID ?? 1
        var frames = [
            Frame(
                version: version, type: .first, service: service, sessionID: sessionID,
                messageID: id, payload: announcement)
        ]
        for number in 1...pieces {
            let piece = rest.readSlice(length: min(bytes, rest.readableBytes)) ?? ByteBuffer()
            frames.append(
                Frame(
                    version: version, type: .consecutive, service: service,
                    info: number == pieces ? 0 : UInt8((number - 1) % 255 + 1),
                    sessionID: sessionID, messageID: id, payload: piece))
        }
        return frames
    }
}
