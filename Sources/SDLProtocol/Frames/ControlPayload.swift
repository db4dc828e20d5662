public import NIOCore

/// The payload of a control frame, raw or BSON (SDL protocol spec, "Control frame payloads"): read
/// by the router (sessions), the log and the simulator.
public enum ControlPayload: Hashable, Sendable {
    case none
    /// Hash ID of v2…v4: 4 bytes, big-endian.
    case hashID(UInt32)
    /// v5, and the one v1 frame that has a payload: the first StartService.
    case document(BSONDocument)
    /// Neither; passed on untouched and shown as hex.
    case unreadable(ByteBuffer, BSONError?)

    public init(_ frame: Frame) {
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

    public var document: BSONDocument? {
        if case .document(let document) = self { document } else { nil }
    }

    /// The hash ID, whichever form it has; nil when absent, of the wrong type, or "not supported".
    public var hashID: UInt32? {
        switch self {
        case .hashID(let hash): hash
        case .document(let document): document.int32("hashId").map(UInt32.init(bitPattern:))
        case .none, .unreadable: nil
        }
    }

    /// The largest frame of a service as its StartServiceACK gives it, in bytes; nil when it gives
    /// no possible one. What `mtu` counts is not agreed (SDL protocol spec, "MTU"), but by every
    /// reading a frame is more than a header.
    public var mtu: Int64? {
        document?.int64(ControlKey.mtu).flatMap { Self.isPossible(mtu: $0) ? $0 : nil }
    }

    /// Whether frames of that many bytes can carry anything.
    public static func isPossible(mtu: Int64) -> Bool { mtu > FrameHeader.bytes(version: 2) }
}

/// Keys of BSON control payloads, as they travel.
public enum ControlKey {
    public static let protocolVersion = "protocolVersion"
    public static let hashID = "hashId"
    public static let mtu = "mtu"
    public static let reason = "reason"
    public static let rejectedParams = "rejectedParams"
    public static let secondaryTransports = "secondaryTransports"
    public static let audioServiceTransports = "audioServiceTransports"
    public static let videoServiceTransports = "videoServiceTransports"
    public static let tcpIPAddress = "tcpIpAddress"
    public static let tcpPort = "tcpPort"
    public static let make = "make"
    public static let model = "model"
    public static let height = "height"
    public static let width = "width"
    public static let videoProtocol = "videoProtocol"
    public static let videoCodec = "videoCodec"
}

/// What the head unit grants in the StartServiceACK of an RPC service.
public struct SessionGrant: Hashable, Sendable {
    public var sessionID: UInt8
    /// Frame version of the session: the ACK's header.
    public var version: UInt8
    /// Full version, "5.4.0", when the ACK names it.
    public var fullVersion: String?
    /// Needed to end the session; 0 when the ACK has none.
    public var hashID: UInt32
    /// As `ControlPayload.mtu`.
    public var mtu: Int64?
    public var make: String?
    public var model: String?

    public init(_ frame: Frame) {
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
