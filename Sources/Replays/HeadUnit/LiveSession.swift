import NIOCore
import SDLProtocol

/// A session that an app has with the recorded head unit.
struct LiveSession {
    /// A question of the app, until its recorded answer is known.
    struct Asked {
        var question: RecordedQuestion
        var frame: Frame?
        var correlationID: Int32?
        var registration: RecordedRegistration?
        var functionName = ""
        var fingerprint: Int?
        var at: NIODeadline
    }

    /// A unique number of the session, because session IDs are reused.
    let key: Int
    let id: UInt8
    var lane: Int
    /// The version of the frames that the app gets.
    var version: UInt8
    var assembler = MessageAssembler(limits: Self.limits)
    /// Questions that wait for more of the recording to be read.
    var asked: [Asked] = []
    var isRegistered = false
    /// Goodbye was said; the session ends when everything that is due has been sent.
    var isEnding = false
    /// Messages that wait for their time.
    var dueCount = 0
    var toldOfEncryption = false
    /// The app was told an HMI level other than NONE.
    var isOnScreen = false
    /// When the app last sent or received something.
    var stirred: NIODeadline
    private var sentMessages: UInt32 = 0

    /// Of the app's messages, only the beginning is read, to identify it. Files are counted.
    private static let limits = {
        var limits = MessageAssembler.Limits()
        limits.maximumMessageBytes = 256 << 10
        limits.maximumKeptBytes = 512 << 10
        limits.maximumUnfinished = 4
        return limits
    }()
    /// Maximum questions that wait for the file to be read.
    static let maximumAsked = 1024

    init(key: Int, id: UInt8, lane: Int, version: UInt8, at now: NIODeadline) {
        stirred = now
        self.key = key
        self.id = id
        self.lane = lane
        self.version = version
    }

    /// 0 only for the StartServiceACK, as sdl_core counts.
    mutating func takeMessageID() -> UInt32 {
        defer { sentMessages = sentMessages == .max ? 1 : sentMessages + 1 }
        return sentMessages
    }
}
