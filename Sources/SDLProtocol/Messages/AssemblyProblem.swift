/// What is wrong with a multi-frame message (SDL protocol spec, "Multi-frame messages"); found by
/// `MessageAssembler`.
public enum AssemblyProblem: Error, Hashable, Sendable {
    /// Consecutive frames whose first frame was never seen.
    case noFirstFrame(info: UInt8)
    /// A frame is missing or out of order; head units drop such frames.
    case outOfOrder(expected: UInt8, found: UInt8)
    /// A first frame without the 8 bytes of total size and frame count.
    case malformedFirstFrame(bytes: Int)
    /// A new first frame with the same session and message ID came before the last frame.
    case restarted(received: Int, announced: Int)
    /// The last frame came, but the number of frames is not the announced one.
    case frameCount(received: Int, announced: Int)
    /// The last frame came, but the bytes are not as many as announced.
    case totalBytes(received: Int, announced: Int)
    /// No further frame for so long that sdl_core gives up as well.
    case expired(received: Int, announced: Int)
    /// The session or the link ended in the middle of the message.
    case abandoned(received: Int, announced: Int)
    /// Given up because more messages are unfinished than may be.
    case tooManyUnfinished(limit: Int)
}

extension AssemblyProblem: CustomStringConvertible {
    /// Found and expected, in one clause.
    public var description: String {
        switch self {
        case .noFirstFrame(let info):
            "consecutive frame \(info) of a message whose first frame was never seen"
        case .outOfOrder(let expected, let found):
            "consecutive frame \(found) where \(expected) was expected"
        case .malformedFirstFrame(let bytes):
            "first frame with \(bytes) payload bytes, expected 8"
        case .restarted(let received, let announced):
            "started again after \(received) of \(announced) frames"
        case .frameCount(let received, let announced):
            "ended after \(received) frames, \(announced) announced"
        case .totalBytes(let received, let announced):
            "ended after \(received) bytes, \(announced) announced"
        case .expired(let received, let announced):
            "stopped after \(received) of \(announced) frames"
        case .abandoned(let received, let announced):
            "cut off after \(received) of \(announced) frames"
        case .tooManyUnfinished(let limit):
            "given up: more than \(limit) messages are unfinished"
        }
    }
}
