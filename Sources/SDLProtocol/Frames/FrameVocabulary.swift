// The numbers of an SDL frame header by name: used by everything that reads or builds frames.

/// What a frame's payload is: bits 2…0 of header byte 0 (SDL protocol spec, "Frame header").
public enum FrameType: UInt8, Hashable, Sendable, CaseIterable {
    /// Session management: StartService, EndService, heartbeat, …
    case control = 0
    /// A whole message.
    case single = 1
    /// Announces a multi-frame message: total size and number of frames, no message bytes.
    case first = 2
    /// A slice of a multi-frame message.
    case consecutive = 3
}

/// A numbered lane within a session (SDL protocol spec, "Services"); all other numbers are reserved.
public enum ServiceType: UInt8, Hashable, Sendable, CaseIterable {
    /// Heartbeats, secondary transport control, TLS handshake.
    case control = 0x00
    /// RPC without bulk data; starting it starts the session.
    case rpc = 0x07
    /// PCM from app to head unit.
    case audio = 0x0A
    /// Encoded video from app to head unit.
    case video = 0x0B
    /// RPC with bulk data ("hybrid"); lives and dies with the RPC service.
    case bulk = 0x0F

    /// The word used in logs, filters and status.
    public var name: String {
        switch self {
        case .control: "control"
        case .rpc: "rpc"
        case .audio: "audio"
        case .video: "video"
        case .bulk: "bulk"
        }
    }

    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// Carries RPC messages, with or without bulk data.
    @inlinable
    public var carriesRPC: Bool {
        switch self {
        case .rpc, .bulk: true
        case .control, .audio, .video: false
        }
    }
    /// Carries a media stream, which is counted and never dumped.
    @inlinable
    public var isStream: Bool {
        switch self {
        case .audio, .video: true
        case .control, .rpc, .bulk: false
        }
    }
}

/// The type of a control frame: header byte 2 (SDL protocol spec, "Frame info").
public enum ControlFrameType: UInt8, Hashable, Sendable, CaseIterable {
    case heartbeat = 0x00
    case startService = 0x01
    case startServiceACK = 0x02
    case startServiceNAK = 0x03
    case endService = 0x04
    case endServiceACK = 0x05
    case endServiceNAK = 0x06
    case registerSecondaryTransport = 0x07
    case registerSecondaryTransportACK = 0x08
    case registerSecondaryTransportNAK = 0x09
    case transportEventUpdate = 0xFD
    /// Deprecated video acknowledgement of protocol 2…4.
    case serviceDataACK = 0xFE
    case heartbeatACK = 0xFF

    /// The name in the protocol specification.
    public var name: String {
        switch self {
        case .heartbeat: "Heartbeat"
        case .startService: "StartService"
        case .startServiceACK: "StartServiceACK"
        case .startServiceNAK: "StartServiceNAK"
        case .endService: "EndService"
        case .endServiceACK: "EndServiceACK"
        case .endServiceNAK: "EndServiceNAK"
        case .registerSecondaryTransport: "RegisterSecondaryTransport"
        case .registerSecondaryTransportACK: "RegisterSecondaryTransportACK"
        case .registerSecondaryTransportNAK: "RegisterSecondaryTransportNAK"
        case .transportEventUpdate: "TransportEventUpdate"
        case .serviceDataACK: "ServiceDataACK"
        case .heartbeatACK: "HeartbeatACK"
        }
    }
}
