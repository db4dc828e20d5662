/// Why the bytes at a stream position cannot be the header of an SDL frame, in words a developer
/// can act on.
public enum FrameError: Error, Hashable, Sendable {
    /// Version nibble 0 or 6…15.
    case reservedVersion(UInt8)
    /// v1 compression bit, never used by anybody.
    case compressed
    /// Frame type 4…7.
    case reservedFrameType(UInt8)
    /// A service other than 0x00, 0x07, 0x0A, 0x0B, 0x0F.
    case unknownService(UInt8)
    /// A control frame with a frame info nobody defined.
    case unknownControlFrame(UInt8)
    /// A single or first frame whose info is not 0.
    case unexpectedInfo(UInt8)
    /// A first frame whose payload is not the 8 bytes of total size and frame count.
    case firstFrameSize(Int)
    /// First frames are never encrypted.
    case encryptedFirstFrame
    /// A single or consecutive frame without payload.
    case empty
    /// More payload than the negotiated version allows.
    case tooLarge(bytes: Int, limit: Int)
    /// A data frame of v2 or later with message ID 0.
    case messageIDZero
    /// Session 0 where a session must already exist.
    case sessionZero
    /// A frame of this many bytes whose end did not come.
    case neverEnded(bytes: Int)
}

extension FrameError: CustomStringConvertible {
    /// Found and expected, in one clause.
    public var description: String {
        switch self {
        case .reservedVersion(let version): "protocol version \(version), expected 1 to 5"
        case .compressed: "v1 frame with the compression bit, which nothing supports"
        case .reservedFrameType(let type): "frame type \(type), expected 0 to 3"
        case .unknownService(let service):
            "service 0x\(hex(service)), expected 0x00, 0x07, 0x0A, 0x0B or 0x0F"
        case .unknownControlFrame(let info): "control frame type 0x\(hex(info)), which is reserved"
        case .unexpectedInfo(let info):
            "frame info 0x\(hex(info)) on a single or first frame, expected 0x00"
        case .firstFrameSize(let bytes): "first frame with \(bytes) payload bytes, expected 8"
        case .encryptedFirstFrame: "encrypted first frame; first frames are always plain"
        case .empty: "data frame without payload"
        case .tooLarge(let bytes, let limit): "\(bytes) payload bytes, at most \(limit) allowed"
        case .messageIDZero: "data frame with message ID 0, expected 1 or more"
        case .sessionZero: "session 0 on a frame that needs a running session"
        case .neverEnded(let bytes): "frame of \(bytes) bytes whose end never came"
        }
    }
}

/// Two upper-case hex digits.
func hex(_ byte: UInt8) -> String { byte.hexDigits.uppercased() }
