package import SDLProtocol

/// Something that the hub noticed and that no frame shows. Made by `Switchboard`, carried by `FrameTap`,
/// shown in the traffic log and explained by the advice.
package enum RelayNotice: Hashable, Sendable {
    /// A peer stopped in the middle of a frame.
    ///
    /// - Parameters:
    ///   - bytes: Bytes of the unfinished frame that have arrived.
    ///   - seconds: How long nothing has arrived.
    case stoppedSending(bytes: Int, seconds: Double)
    /// A peer takes no bytes although some wait for it; `seconds` is nil when the limit was hit
    /// before the time was up.
    case stoppedReading(queuedBytes: Int, seconds: Double?)
    /// An app takes bytes, but has long taken fewer than arrive for it.
    case fellBehind(queuedBytes: Int)
    /// An app sends faster than it may, and is slowed down.
    case paced(framesPerSecond: Int)
    /// Bytes that are not frames.
    case garbage(GarbageNotice)
    /// An app left a message half sent, and relayd ended it in its place; or it paused for too long.
    case messageEnded(EndedMessage)
    /// An app did not answer the head unit's heartbeat for this many seconds; relayd did.
    case heartbeatAnswered(seconds: Double)
}

/// A message that relayd ended in the place of its app, or that its app finished too late.
package struct EndedMessage: Hashable, Sendable {
    package enum Cause: Hashable, Sendable {
        case left
        /// The app ended its session.
        case ended
        /// The app began another message with the same message ID, or too many at once.
        case restarted
        /// The app began another message, and its unfinished ones would together have announced more than one
        /// message may have.
        case exceeding
        /// The session ended while the rest of the message waited for the link.
        case dropped
        /// The app left, and the message was encrypted: nothing can end such a message.
        case encrypted
        /// The app continued the message when the head unit may already have given it up.
        case paused
        /// The app paused within the RPC header. Nobody can tell what the head unit would have made of that
        /// when it gave the message up.
        case expiring
    }

    package var cause: Cause
    package var messageID: UInt32
    /// Nil when too little of the message had come to tell.
    package var functionID: UInt32?
    package var correlationID: Int32?
    package var service: ServiceType
    /// Consecutive frames that the head unit has got, and the number announced.
    package var frames: UInt32
    package var announcedFrames: UInt32

    package init(
        cause: Cause, messageID: UInt32, functionID: UInt32? = nil, correlationID: Int32? = nil,
        service: ServiceType, frames: UInt32, announcedFrames: UInt32
    ) {
        self.cause = cause
        self.messageID = messageID
        self.functionID = functionID
        self.correlationID = correlationID
        self.service = service
        self.frames = frames
        self.announcedFrames = announcedFrames
    }

    init(_ half: HalfMessages.Half, cause: Cause) {
        self.cause = cause
        messageID = half.messageID
        functionID = half.functionID
        correlationID = half.correlationID
        service = half.service
        frames = half.frames
        announcedFrames = half.announcedFrames
    }

    /// What the message was, as the log calls it: PutFile #7, or a message of a service.
    private var name: String {
        guard let functionID, let correlationID else {
            return "a message of the \(service.name) service"
        }
        return "\(FunctionID(rawValue: functionID)) #\(correlationID)"
    }

    /// To be read after "the app".
    var description: String {
        let message = "\(name) (\(frames) of \(announcedFrames) frames)"
        let ended = "; relayd ended it so that "
        return switch cause {
        case .left:
            "left in the middle of \(message)\(ended)the next app's files are not mixed with it"
        case .ended:
            "ended its session in the middle of \(message)\(ended)the next app's files are not "
                + "mixed with it"
        case .restarted:
            "began another message in the middle of \(message)\(ended)the two are not mixed"
        case .exceeding:
            "began another message in the middle of \(message), and all its unfinished messages "
                + "together are larger than apps.message_limit\(ended)the head unit need not keep room for both"
        case .dropped:
            "lost its session in the middle of \(message)\(ended)the next app's files are not "
                + "mixed with it"
        case .encrypted:
            "left in the middle of \(message), which is encrypted; relayd keeps its session number "
                + "until the head unit has forgotten it"
        case .paused:
            "paused for \(HalfMessages.lifetime.seconds) s or more in the middle of \(message); "
                + "sdl_core refuses such a message, unless no app has sent anything meanwhile"
        case .expiring:
            "paused for \(HalfMessages.headlessLifetime.seconds) s or more at the beginning of "
                + "\(message)\(ended)sdl_core does not answer another request in its place"
        }
    }
}

/// Bytes that are not frames.
package struct GarbageNotice: Hashable, Sendable {
    /// Stream position of the first byte, counted from 0.
    package var offset: UInt64
    package var error: FrameError
    package var recognised: WrongProtocol?
    /// The bytes in hex and as text.
    package var excerpt: String

    package init(
        offset: UInt64, error: FrameError, recognised: WrongProtocol?, excerpt: String = ""
    ) {
        self.offset = offset
        self.error = error
        self.recognised = recognised
        self.excerpt = excerpt
    }
}

extension RelayNotice {
    /// What happened, to be read after "the app" or "the head unit".
    package var description: String {
        switch self {
        case .stoppedSending(let bytes, let seconds):
            "stopped in the middle of a frame \(Self.text(seconds)) s ago, "
                + "\(bytes) bytes of it have come"
        case .stoppedReading(let bytes, .some(let seconds)):
            "has read nothing for \(Self.text(seconds)) s; \(bytes) bytes are waiting for it"
        case .stoppedReading(let bytes, nil):
            "does not read; \(bytes) bytes are waiting for it (limit reached)"
        case .fellBehind(let bytes):
            "reads more slowly than the head unit sends; \(bytes) bytes are waiting for it (limit reached)"
        case .paced(let limit):
            "sends more than \(limit) frames a second and is slowed down to that; "
                + "head units end a session at 1000"
        case .messageEnded(let message): message.description
        case .heartbeatAnswered(let seconds):
            "did not answer the head unit's heartbeat for \(Self.text(seconds)) s, as at a "
                + "breakpoint; relayd answered it, so that the session stays (sessions.heartbeats)"
        case .garbage(let garbage):
            "sent bytes that are not an SDL frame, from byte \(garbage.offset) on: \(garbage.error)"
        }
    }

    private static func text(_ seconds: Double) -> String {
        Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)"
    }
}
