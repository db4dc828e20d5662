import NIOCore
import SDLProtocol

/// A running session from the head unit's side: what was granted, the app in it, what it streams, and how its
/// messages become frames.
struct Session: Sendable {
    let id: UInt8
    /// Never 0 ("not supported") or −1 (what libraries read when the key is missing).
    let hashID: UInt32
    /// Version of the headers sent to the app.
    var version: UInt8
    /// The full negotiated version; nil below 5, where there is none.
    var fullVersion: SDLVersion?
    /// Below 5 the app's first frame after StartServiceACK fixes the version.
    var isVersionSettled: Bool
    var assembler = MessageAssembler(limits: Self.limits)
    var app: SimulatedAccessory.RegisteredApp?
    /// The running audio and video services.
    var streams: Set<ServiceType> = []
    /// sdl_core counts the frames it sends from 0, which is the StartServiceACK.
    private var sentMessages: UInt32 = 0

    /// Limits for one app: a file of 255 full frames, as iOS cannot assemble more, and a few messages that were
    /// begun and never finished.
    private static let limits = {
        var limits = MessageAssembler.Limits()
        limits.maximumMessageBytes = 255 * 131_072
        limits.maximumKeptBytes = limits.maximumMessageBytes
        limits.maximumUnfinished = 4
        return limits
    }()

    init(id: UInt8, hashID: UInt32, version: UInt8, fullVersion: SDLVersion?) {
        self.id = id
        self.hashID = hashID
        self.version = version
        self.fullVersion = fullVersion
        isVersionSettled = fullVersion != nil
    }

    /// Message ID of the next message; 0 only for the very first.
    mutating func takeMessageID() -> UInt32 {
        defer { sentMessages = sentMessages == .max ? 1 : sentMessages + 1 }
        return sentMessages
    }

    /// Largest payload of a frame that the strictest library accepts: iOS counts the header into the MTU and
    /// accepts less than all of it; before v3 it assumes 1024 bytes (SDL protocol spec, "MTU", and its
    /// implementations).
    func maximumPayloadBytes(mtu: Int64) -> Int {
        switch version {
        case 1, 2: 1011
        case 3, 4: 131_011
        default: Int(mtu) - 13
        }
    }

    /// Cuts a message into frames: one, or first and consecutive ones.
    mutating func frames(for message: ByteBuffer, service: ServiceType, mtu: Int64) -> [Frame] {
        let messageID = takeMessageID()
        let limit = maximumPayloadBytes(mtu: mtu)
        func frame(_ type: FrameType, info: UInt8 = 0, _ payload: ByteBuffer) -> Frame {
            Frame(
                version: version, type: type, service: service, info: info, sessionID: id,
                messageID: messageID, payload: payload)
        }
        guard message.readableBytes > limit else { return [frame(.single, message)] }
        let count = (message.readableBytes + limit - 1) / limit
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(clamping: message.readableBytes))
        announcement.writeInteger(UInt32(clamping: count))
        var frames = [frame(.first, announcement)]
        var rest = message
        for index in 1...count {
            let slice = rest.readSlice(length: min(limit, rest.readableBytes)) ?? ByteBuffer()
            // 1…255, 1…255, …; the last is 0 (SDL protocol spec, "Multiple frames").
            let info = index == count ? 0 : UInt8((index - 1) % 255 + 1)
            frames.append(frame(.consecutive, info: info, slice))
        }
        return frames
    }
}
