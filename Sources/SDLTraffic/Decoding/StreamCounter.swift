import RelayCore
import SDLProtocol

/// Counts audio and video instead of showing them: frames and bytes of one service in one
/// direction, summed up once a second. `TrafficDecoder` keeps one per running stream.
struct StreamCounter: Sendable {
    /// At most one line per second, however many frames: 1 s in nanoseconds.
    static let interval: Int64 = 1_000_000_000

    private(set) var app: AppID?
    private var frames = 0
    private var messages = 0
    private var bytes = 0
    private var start: WallTime
    private(set) var lastFrame: WallTime
    private var totalFrames = 0
    private var totalBytes = 0
    private var isEncrypted = false

    init(at time: WallTime) {
        start = time
        lastFrame = time
    }

    mutating func count(_ frame: TappedFrame) {
        if frames == 0 { start = frame.time }
        frames += 1
        if frame.frame.type != .consecutive { messages += 1 }
        bytes += frame.frame.payloadBytes
        totalFrames += 1
        totalBytes += frame.frame.payloadBytes
        isEncrypted = isEncrypted || frame.frame.isEncrypted
        app = frame.app ?? app
        lastFrame = frame.time
    }

    /// Adjusts to a clock that was set forward by this many nanoseconds.
    mutating func shift(by step: Int64) {
        start = start.shifted(by: step)
        lastFrame = lastFrame.shifted(by: step)
    }

    /// Whether something was counted and its second is over; setting the clock back also ends the second.
    func isDue(at now: WallTime) -> Bool {
        let elapsed = now.nanoseconds &- start.nanoseconds
        return frames > 0 && (elapsed >= Self.interval || elapsed < 0)
    }

    /// When `isDue` becomes true by itself; nil while nothing is counted.
    var due: WallTime? {
        frames > 0 ? WallTime(nanoseconds: start.nanoseconds &+ Self.interval) : nil
    }

    /// The counts since the last call.
    mutating func take(isFinal: Bool) -> StreamSummary {
        defer {
            frames = 0
            messages = 0
            bytes = 0
        }
        return StreamSummary(
            frames: frames, bytes: bytes,
            duration: frames == 0 ? 0 : max(0, lastFrame.nanoseconds &- start.nanoseconds),
            totalFrames: totalFrames, totalBytes: totalBytes, isEncrypted: isEncrypted,
            isFinal: isFinal, lastFrame: lastFrame, messages: messages)
    }
}

struct StreamKey: Hashable, Sendable, Comparable {
    var sessionID: UInt8
    var service: ServiceType
    var direction: Direction

    static func < (left: Self, right: Self) -> Bool {
        (left.sessionID, left.service.rawValue, left.direction == .fromApp ? 0 : 1)
            < (right.sessionID, right.service.rawValue, right.direction == .fromApp ? 0 : 1)
    }
}
