import SDLProtocol

/// The payload bytes of the largest frame that the head unit takes, for each service of a session.
///
/// A head unit names an mtu when it starts a service, and sdl_core applies it per service: it treats
/// an RPC frame as malformed whose size would be right for video (SDL protocol spec,
/// "StartServiceACK", mtu).
struct PayloadLimits {
    private var audio: UInt32?
    private var video: UInt32?
    /// The limit of the RPC service, and of all services without one of their own.
    private var session = UInt32.max
    /// The smallest of the limits: a frame that is no larger need not be examined.
    private(set) var smallest = UInt32.max

    subscript(service: ServiceType) -> UInt32 {
        get {
            switch service {
            case .audio: audio ?? session
            case .video: video ?? session
            case .control, .rpc, .bulk: session
            }
        }
        set {
            switch service {
            case .audio: audio = newValue
            case .video: video = newValue
            case .control, .rpc, .bulk: session = newValue
            }
            smallest = min(session, audio ?? .max, video ?? .max)
        }
    }
}
