package import NIOCore

/// The payload of a control frame, raw or BSON (SDL protocol spec, "Control frame payloads"): read
/// by the router (sessions), the log and the simulator.
package enum ControlPayload: Hashable, Sendable {
    case none
    /// Hash ID of v2…v4: 4 bytes, big-endian.
    case hashID(UInt32)
    /// v5, and the one v1 frame that has a payload: the first StartService.
    case document(BSONDocument)
    /// Neither; passed on untouched and shown as hex.
    case unreadable(ByteBuffer, BSONError?)

    package init(_ frame: Frame) {
        let payload = frame.payload
        guard payload.readableBytes > 0 else {
            self = .none
            return
        }
        // A document is never as short as a hash, and a hash never as long as a document.
        if payload.readableBytes == 4, (2...4).contains(frame.version),
            let hash = payload.getInteger(at: payload.readerIndex, as: UInt32.self)
        {
            self = .hashID(hash)
            return
        }
        do {
            self = .document(try BSONDocument(payload))
        } catch {
            self = .unreadable(payload, error)
        }
    }

    package var document: BSONDocument? {
        if case .document(let document) = self { document } else { nil }
    }

    /// The hash ID, whichever form it has; nil when absent, of the wrong type, or "not supported".
    package var hashID: UInt32? {
        switch self {
        case .hashID(let hash): hash
        case .document(let document): document.int32("hashId").map(UInt32.init(bitPattern:))
        case .none, .unreadable: nil
        }
    }

    /// The largest frame of a service as its StartServiceACK gives it, in bytes; nil when it gives
    /// no possible one. What `mtu` counts is not agreed (SDL protocol spec, "MTU"), but by every
    /// reading a frame is more than a header.
    package var mtu: Int64? {
        document?.int64(ControlKey.mtu).flatMap { Self.isPossible(mtu: $0) ? $0 : nil }
    }

    /// Whether frames of that many bytes can carry anything.
    package static func isPossible(mtu: Int64) -> Bool { mtu > FrameHeader.bytes(version: 2) }
}

/// Keys of BSON control payloads, as they travel.
package enum ControlKey {
    package static let protocolVersion = "protocolVersion"
    package static let hashID = "hashId"
    package static let mtu = "mtu"
    package static let reason = "reason"
    package static let rejectedParams = "rejectedParams"
    package static let secondaryTransports = "secondaryTransports"
    package static let audioServiceTransports = "audioServiceTransports"
    package static let videoServiceTransports = "videoServiceTransports"
    package static let tcpIPAddress = "tcpIpAddress"
    package static let tcpPort = "tcpPort"
    package static let make = "make"
    package static let model = "model"
    package static let height = "height"
    package static let width = "width"
    package static let videoProtocol = "videoProtocol"
    package static let videoCodec = "videoCodec"
}

/// What the head unit grants in the StartServiceACK of an RPC service.
package struct SessionGrant: Hashable, Sendable {
    package var sessionID: UInt8
    /// Frame version of the session: the ACK's header.
    package var version: UInt8
    /// Full version, "5.4.0", when the ACK names it.
    package var fullVersion: String?
    /// Needed to end the session; 0 when the ACK has none.
    package var hashID: UInt32
    /// As `ControlPayload.mtu`.
    package var mtu: Int64?
    package var make: String?
    package var model: String?

    package init(_ frame: Frame) {
        let payload = ControlPayload(frame)
        sessionID = frame.sessionID
        version = frame.version
        hashID = payload.hashID ?? 0
        fullVersion = payload.document?.string(ControlKey.protocolVersion)
        mtu = payload.mtu
        make = payload.document?.string(ControlKey.make)
        model = payload.document?.string(ControlKey.model)
    }
}
