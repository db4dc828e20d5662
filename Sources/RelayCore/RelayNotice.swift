// What the hub itself noticed and no frame shows: made by `Switchboard`, carried by `FrameTap`, told
// in the traffic log and explained by the advice.

package import SDLProtocol

/// Something that happened below the frames.
package enum RelayNotice: Hashable, Sendable {
    /// A peer stopped in the middle of a frame.
    ///
    /// - Parameters:
    ///   - bytes: Bytes of the unfinished frame that have arrived.
    ///   - seconds: How long nothing has come.
    case stoppedSending(bytes: Int, seconds: Double)
    /// A peer takes no bytes although some wait for it; `seconds` is nil when the limit was hit
    /// before the time was up.
    case stoppedReading(queuedBytes: Int, seconds: Double?)
    /// An app takes bytes, but for long fewer than come for it.
    case fellBehind(queuedBytes: Int)
    /// An app sends faster than it may, and is slowed down.
    case paced(framesPerSecond: Int)
    /// Bytes that are no frames.
    case garbage(GarbageNotice)
}

/// Bytes that are no frames.
package struct GarbageNotice: Hashable, Sendable {
    /// Stream position of the first, counted from 0.
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
    /// What happened, to be read behind "the app" or "the head unit".
    package var description: String {
        switch self {
        case .stoppedSending(let bytes, let seconds):
            "stopped in the middle of a frame \(Self.text(seconds)) s ago, "
                + "\(bytes) bytes of it have come"
        case .stoppedReading(let bytes, .some(let seconds)):
            "has taken nothing for \(Self.text(seconds)) s, \(bytes) bytes wait for it"
        case .stoppedReading(let bytes, nil):
            "does not read, \(bytes) bytes wait for it (limit reached)"
        case .fellBehind(let bytes):
            "reads more slowly than the head unit sends, \(bytes) bytes wait for it (limit reached)"
        case .paced(let limit):
            "sends more than \(limit) frames a second and is slowed down to that; "
                + "head units end a session at 1000"
        case .garbage(let garbage):
            "sent bytes that are no SDL frame, from byte \(garbage.offset) on: \(garbage.error)"
        }
    }

    private static func text(_ seconds: Double) -> String {
        Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)"
    }
}
