// Builds and amends the control frames that the relay itself sends to a head unit or an app.

public import NIOCore

extension Frame {
    /// Ends a service; ending the RPC service ends the session. v1 knows no hash; v2…v4 carry it
    /// raw.
    public static func endService(
        _ service: ServiceType = .rpc, version: UInt8, sessionID: UInt8, hashID: UInt32,
        messageID: UInt32 = 0
    ) -> Frame {
        var payload = ByteBuffer()
        if service == .rpc {
            switch version {
            case 1: break
            case 2...4: payload.writeInteger(hashID)
            default:
                let document: BSONDocument = [
                    ControlKey.hashID: .int32(Int32(bitPattern: hashID))
                ]
                payload = document.bytes
            }
        }
        return Frame(
            version: version, type: .control, service: service,
            info: ControlFrameType.endService.rawValue, sessionID: sessionID,
            messageID: messageID, payload: payload)
    }

    /// Confirms the end of a service, as its request has it.
    public static func endServiceACK(of request: Frame) -> Frame {
        Frame(
            version: request.version, type: .control, service: request.service,
            info: ControlFrameType.endServiceACK.rawValue, sessionID: request.sessionID,
            messageID: request.messageID ?? 0, payload: ByteBuffer())
    }

    /// Asks for a service in a session that runs.
    public static func startService(
        _ service: ServiceType, version: UInt8, sessionID: UInt8, messageID: UInt32,
        payload: ByteBuffer = ByteBuffer()
    ) -> Frame {
        Frame(
            version: version, type: .control, service: service,
            info: ControlFrameType.startService.rawValue, sessionID: sessionID,
            messageID: messageID, payload: payload)
    }

    /// Refuses a StartService as sdl_core does: with the request's own header version.
    ///
    /// - Parameter reason: Travels only in v5, the first version that has room for it.
    public static func startServiceNAK(of request: Frame, reason: String) -> Frame {
        nak(of: request, type: .startServiceNAK, reason: reason)
    }

    /// Refuses the end of a service.
    public static func endServiceNAK(of request: Frame, reason: String) -> Frame {
        nak(of: request, type: .endServiceNAK, reason: reason)
    }

    /// Refuses an attempt to open a second transport around the relay.
    public static func registerSecondaryTransportNAK(of request: Frame, reason: String) -> Frame {
        nak(of: request, type: .registerSecondaryTransportNAK, reason: reason)
    }

    private static func nak(of request: Frame, type: ControlFrameType, reason: String) -> Frame {
        let document: BSONDocument = [ControlKey.reason: .string(reason)]
        return Frame(
            version: request.version, type: .control, service: request.service,
            info: type.rawValue, sessionID: request.sessionID,
            messageID: request.messageID ?? 0,
            payload: request.version >= 5 ? document.bytes : ByteBuffer())
    }

    /// This StartServiceACK without invitations to connect around the relay, nil when it has none.
    ///
    /// Offers are names in `secondaryTransports`, and transport lists of a service that name the
    /// secondary (2). An empty list, or one that names only the primary (1), invites nobody and
    /// stays, so that such an ACK passes byte for byte.
    public func withoutSecondaryTransportOffers() -> Frame? {
        guard controlType == .startServiceACK, ControlPayload(self).document != nil,
            let amended = try? BSONDocument.bytes(payload, without: Self.offersSecondaryTransport)
        else { return nil }
        return Frame(
            version: version, isEncrypted: isEncrypted, type: type, service: service, info: info,
            sessionID: sessionID, messageID: messageID ?? 0, payload: amended)
    }

    private static func offersSecondaryTransport(_ element: BSONDocument.Element) -> Bool {
        guard case .array(let transports) = element.value else { return false }
        return switch element.key {
        case ControlKey.secondaryTransports: !transports.isEmpty
        case ControlKey.audioServiceTransports, ControlKey.videoServiceTransports:
            transports.contains(.int32(2))
        default: false
        }
    }
}
